"""What a page says of the moment at which it was made, told from what it says of its subject."""

from __future__ import annotations

import pytest
from clocklike import clocklike
from extracted import blocks
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.text import Form
from scrapy_neardup.text.clocks import _CLOCK, LINE_END, may_hold_clock, split_clocks


def clocks(text):
    return [part for part, is_clock in split_clocks(text) if is_clock]


@pytest.mark.parametrize(
    "clock",
    [
        "2024-03-05", "2024-03-05T10:00", "2024-03-05T10:00:00Z", "05/03/2024", "5.3.2024",
        "05.03.24", "5/3/24",
        "5 March 2024", "5. Mai 2024",
        "5th Mar. 2024", "March 5, 2024", "12:30", "12:30:59.25", "9:05 pm", "12:30:59Z",
        "12:30+02:00", "3 minutes ago", "1 day ago", "0.0421 seconds", "0.3s", "42ms",
        "17 queries", "1,234 visitors", "8 users", "512 KiB", "Visitors: 1234", "Hits #77",
        "views no. 5", "5 марта 2024",
    ],
)  # fmt: skip
def test_clocks(clock):
    found = "".join(clocks(f"Page made {clock}, thank you"))
    assert found.rstrip(",") == clock


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no digit",
        "version 2.0.3",
        "release 1.11.19",
        "a 3:2 majority",
        "page 12 of 30",
        "the years 1914 and 1918",
        "order 2024-03-055",
        "x12:30",
        "room 12.30",
        "5 memberships",
        "9999-99-99-99",
        "part no. 5",
        "100 kg",
        "item 2024-03",
    ],
)
def test_what_is_no_clock(text):
    assert clocks(text) == []


def test_in_a_long_line_dates_are_content():
    line = "The treaty was signed on 5 March 1948 and came into force on 30 May 1948"
    assert len(clocks(line)) == 2
    assert clocks(f"{line}, {'as the archives of both states tell in some detail, ' * 3}") == []


def test_each_line_of_a_block_is_looked_at_by_itself():
    """`<br>` ends a line; a line feed is white space."""
    long = "words that go on and on " * 10
    assert clocks(f"{long}12:30") == []
    assert clocks(f"{long}\n12:30") == []
    assert clocks(f"{long}{LINE_END}12:30") == ["12:30"]
    found = blocks(f"<p>{long}<br>made 12:30</p>")
    assert [block.text.strip() for block in found if block.form is Form.CLOCK] == ["12:30"]


def test_what_stands_around_a_clock_stays_a_row():
    before, clock, after = blocks("<p>made 12:30 by us</p>")
    assert (before.text.strip(), before.form, before.joined) == ("made", Form.CONTENT, False)
    assert (clock.text, clock.form) == ("12:30", Form.CLOCK)
    assert (after.text.strip(), after.form, after.joined) == ("by us", Form.CONTENT, True)
    assert before.place == clock.place == after.place


@pytest.mark.parametrize("inner", ["yesterday", "12:30", "<b>noon</b>"])
def test_a_time_element_is_a_clock_whatever_it_says(inner):
    found = blocks(f"<p>made <time>{inner}</time> by us</p>")
    assert [block.form for block in found] == [Form.CONTENT, Form.CLOCK, Form.CONTENT]


def test_clocks_in_named_elements_and_links_are_clocks():
    for html in ("<div class=ad>made 12:30</div>", "<a href=x>made 12:30</a>"):
        assert Form.CLOCK in {block.form for block in blocks(html)}


@given(clocklike)
def test_no_line_with_a_clock_is_passed_over(line):
    assert may_hold_clock(line) or _CLOCK.search(line) is None


LINES = st.lists(
    st.sampled_from(["2024-03-05", "12:30", "word", " ", LINE_END, "7", "3 hits", ", "]),
    max_size=30,
)


@given(LINES)
def test_nothing_of_a_text_is_lost(parts):
    text = "".join(parts)
    found = "".join(part for part, _ in split_clocks(text))
    assert found == (text.replace(LINE_END, "") if any(map(str.isdigit, text)) else text)
