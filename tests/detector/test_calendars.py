"""Calendars without end: empty months of further years are those of an earlier one."""

import asyncio
import calendar

import pytest

from scrapy_neardup.calendars import EmptyMonths
from scrapy_neardup.detector import Analyser, Detector
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Content, Extractor, parse_html

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


def page(year, month, *, rows="bare", event="", event_day=0, linked=0, note=""):
    """Return a month as a calendar shows it."""
    name = f"{calendar.month_name[month]} {year}"
    cells = "".join(
        "<tr>" + "".join(
            f"<td>{f'<a href={day}>' if day == linked else ''}{day or ''}"
            f"{'</a>' if day == linked else ''}{f' {event}' if day == event_day else ''}</td>"
            for day in week
        ) + "</tr>"
        for week in ROWS[rows](year, month)
    )  # fmt: skip
    return Extractor().extract(parse_html(
        f"<title>{name}</title><h1>{name}</h1><p>Mo Tu We Th Fr Sa Su</p><table>{cells}</table>"
        f"<p>No events in {name}. {note}<a>{year - 1}</a> <a>{year + 1}</a></p>".encode()
    ))  # fmt: skip


def folded(months, contents, address=ADDRESSES[0]):
    """Return which of these months are judged as another."""
    return {
        (year, month)
        for (year, month), content in contents.items()
        if months.fold(content, address.format(year=year, month=month)) is not content
    }


YEARS = [(year, month) for year in range(2001, 2006) for month in range(1, 13)]
FURTHER = {(year, month) for year, month in YEARS if year > 2002}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("rows", ROWS)
def test_two_years_are_enough(address, rows):
    assert folded(EmptyMonths(), {at: page(*at, rows=rows) for at in YEARS}, address) == FURTHER


def test_it_is_judged_as_the_same_month():
    months = EmptyMonths()
    first = page(2001, 5)
    for content in first, page(2002, 5):
        months.fold(content, ADDRESSES[0].format(year=int(content.title[-4:]), month=5))
    assert months.fold(page(2300, 5), "http://a.example/calendar/2300/05/") is first


def test_a_month_that_is_met_again_is_itself():
    months = EmptyMonths()
    for _ in range(5):
        assert folded(months, {(2001, 5): page(2001, 5), (2002, 5): page(2002, 5)}) == set()


def test_a_month_with_an_event_is_not_empty():
    months = EmptyMonths()
    contents = {at: page(*at) for at in YEARS}
    contents[2003, 7] = page(2003, 7, event="concert", event_day=12)
    contents[2004, 7] = page(2004, 7, note="We are on holiday. ")
    contents[2005, 7] = page(2005, 7, linked=12)
    assert folded(months, contents) == FURTHER - {(2003, 7), (2004, 7), (2005, 7)}


@pytest.mark.parametrize(
    ("address", "note"),
    [
        pytest.param("http://a.example/calendar", "", id="no date in the address"),
        pytest.param("http://a.example/{year}", "", id="no month in the address"),
        pytest.param("http://a.example/{year}/05", "", id="of another month"),
        pytest.param("http://a.example/{year}/{month}", "{number} visitors.", id="other numbers"),
        pytest.param("http://a{number}.example/{year}/{month}", "", id="on other sites"),
        pytest.param("http://a.example/room/{number}/{year}/{month}", "", id="of other rooms"),
        pytest.param("http://[{year}/{month}", "", id="no address"),
    ],
)
def test_what_is_no_empty_month(address, note):
    months = EmptyMonths()
    for number, year in enumerate(range(2001, 2040), 100):
        for month in 4, 6:
            content = page(year, month, note=note.format(number=number))
            url = address.format(year=year, month=month, number=number)
            assert months.fold(content, url) is content
    assert months.fold(content, None) is content


def test_a_report_may_differ_in_its_year_alone():
    months = EmptyMonths()
    for year in range(2001, 2040):
        content = Content(f"Report of May {year}. Nothing has happened in {year}.", f"May {year}")
        assert months.fold(content, f"http://a.example/reports/{year}/05") is content


def test_in_a_crawl():
    async def run():
        async with open_store("memory:", matching=Parameters().matching) as store:
            detector = Detector(Analyser(Parameters()), store)
            found = {}
            for number, (year, month) in enumerate(YEARS):
                url = ADDRESSES[0].format(year=year, month=month)
                verdict = await detector.judge(page(year, month), page_id=number, url=url)
                if verdict.is_duplicate:
                    found[year, month] = verdict.match.url
                    assert "an empty month" in verdict.explain()
            return found

    found = asyncio.run(run())
    assert found.keys() == FURTHER
    assert found[2005, 8] == "http://a.example/calendar/2001/08/"
