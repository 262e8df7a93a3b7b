"""Calendars without end: an empty month is that of one of two years."""

import calendar
from itertools import product

import pytest

from scrapy_neardup.judge.readings import without_year
from scrapy_neardup.text import Content, Extractor, parse_html

of_text = Content.of_text

ROWS = {
    "bare": lambda year, month: calendar.Calendar().monthdayscalendar(year, month),
    "with the days around": lambda year, month: [
        [day.day for day in week] for week in calendar.Calendar().monthdatescalendar(year, month)
    ],
    "with weeks": lambda year, month: [
        [number, *week]
        for number, week in enumerate(calendar.Calendar().monthdayscalendar(year, month), 14)
    ],
}
ADDRESSES = [
    "http://a.example/calendar/{year}/{month:02}/",
    "http://a.example/calendar?month={month}&year={year}",
    "http://a.example/events/{year}-{month:02}.html",
]


def page(year, month, *, rows="bare", shown=(), note=""):
    """Return a month as a calendar shows it, where `shown` says it some days in other words."""
    name, shown = f"{calendar.month_name[month]} {year}", {0: "", **dict(shown)}
    weeks = ("<td>".join(str(shown.get(day, day)) for day in week)
             for week in ROWS[rows](year, month))  # fmt: skip
    cells = "".join(f"<tr><td>{week}</tr>" for week in weeks)
    return Extractor().extract(parse_html(
        f"<title>{name}</title><h1>{name}</h1><p>Mo Tu We Th Fr Sa Su</p><table>{cells}</table>"
        f"<p>No events in {name}. {note}<a>{year - 1}</a> <a>{year + 1}</a></p>".encode()
    ))  # fmt: skip


def read(content, year, month, address=ADDRESSES[0]):
    return without_year(content, address.format(year=year, month=month))


YEARS = [(year, month) for year in range(2001, 2006) for month in range(1, 13)]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("month", [2, 5, 12])
def test_two_years_are_enough(address, rows, month):
    years = range(2001, 2030)
    one, other, *later = (read(page(n, month, rows=rows), n, month, address) for n in years)
    assert one != other
    assert later == [one, other] * 13 + [one]


def test_months_of_one_year_and_of_other_rooms_are_told_apart():
    assert len({read(page(2001, month), 2001, month) for month in range(1, 13)}) == 12
    rooms = [f"http://a.example/room/{room}/2001/5" for room in range(100, 110)]
    assert len({without_year(page(2001, 5), room) for room in rooms}) == 10


def test_it_does_not_matter_what_was_read_before():
    first = read(page(2300, 5), 2300, 5)
    for year, month in YEARS:
        read(page(year, month), year, month)
    assert read(page(2300, 5), 2300, 5) == first


@pytest.mark.parametrize("happens", [
    {"shown": {12: "12 concert"}}, {"shown": {12: "<a href=12>12</a>"}},
    {"note": "Room 4711 is closed."},
])  # fmt: skip
def test_a_month_with_an_event_is_not_empty(happens):
    content = page(2003, 7, **happens)
    assert read(content, 2003, 7) is content


def test_a_note_is_read_along():
    both = product((2001, 2003), ("", "On holiday."))
    assert len({read(page(year, 7, note=note), year, 7) for year, note in both}) == 2


@pytest.mark.parametrize(("address", "note"), [
    pytest.param("http://a.example/calendar", "", id="no date in the address"),
    pytest.param("http://a.example/{year}", "", id="no month in the address"),
    pytest.param("http://a.example/{year}/05", "", id="of another month"),
    pytest.param("http://a.example/{year}/{month}", "{number} visitors.", id="other numbers"),
    pytest.param("http://[{year}/{month}", "", id="no address"),
])  # fmt: skip
def test_what_is_no_empty_month(address, note):
    for number, (year, month) in enumerate(product(range(2001, 2040), (4, 6)), 200):
        content = page(year, month, note=note.format(number=number // 2))
        assert without_year(content, address.format(year=year, month=month)) is content
    assert without_year(content, None) is content


def test_a_report_may_differ_in_its_year_alone():
    for year in range(2001, 2040):
        content = of_text(f"Report of May {year}. Nothing has happened in {year}.", f"May {year}")
        assert without_year(content, f"http://a.example/reports/{year}/05") is content
