"""The preset ``exact``: whatever differs is kept, but for what changes by itself."""

import pytest
from judging import judged

from scrapy_neardup.judge.parameters import Parameters

WORDS = " ".join(f"word{number}" for number in range(400))
OFFER = ("<title>Nurse</title><h1>Nurse</h1>", f"<p>{WORDS}</p>", "<p>in Berlin</p>")


def verdicts(*pages: tuple[str, str]) -> list[bool]:
    """Return which of some pages, each an address and its HTML, are duplicates."""
    return [verdict.is_duplicate for verdict in judged(pages, Parameters.of_preset("exact"))]


def offer(head: str = OFFER[0], body: str = OFFER[1], foot: str = OFFER[2]) -> str:
    return f"<html><head></head><body><main>{head}{body}{foot}</main></body></html>"


@pytest.mark.parametrize("other", [
    offer(foot="<p>in Munich</p>"),
    offer(body=f"<p>{WORDS} 12</p>"),
    offer(head=OFFER[0].replace("<title>Nurse", "<title>Nurse 2")),
    offer(foot="<p>in Berlin</p><p>128 GB</p>"),
    offer(foot='<p>in Berlin</p><p><time datetime="2026-03-01">1 March</time></p>'),
    offer(foot='<p>in Berlin</p><img src="/other.png">'),
    offer(foot="<p>in Berlin</p><div class=menu>8</div>"),
])  # fmt: skip
def test_what_differs_in_a_word_a_number_or_an_image_is_kept(other):
    pages = ("http://a.example/1", offer()), ("http://a.example/2", other)
    assert verdicts(*pages) == verdicts(*reversed(pages)) == [False, False]


@pytest.mark.parametrize(("foot", "other"), [
    ("<ol><li>Anna<li>Ben</ol>", "<ol><li>Ben<li>Anna</ol>"),
    ("<table><tr><td>x<td></table>", "<table><tr><td><td>x</table>"),
    ("<input type=checkbox>", "<input type=checkbox checked>"),
    ("<select><option selected>S<option>M</select>", "<select><option>S<option>M</select>"),
    ("<p style='color: red'>x", "<p>x"),
])  # fmt: skip
def test_what_shows_no_text_and_the_order_of_rows_do_not_count(foot, other):
    pages = ("http://a.example/1", offer(foot=foot)), ("http://a.example/2", offer(foot=other))
    assert verdicts(*pages) == [False, True]


def test_what_changes_with_each_response_does_not_count_once_it_was_seen():
    def shown(number, visit):
        body = f"<p>{WORDS.replace('word', f'w{number}x')}</p>"
        foot = f"<div class=x>buy now, {number * 7 + 3 * visit} are left</div>"
        return offer(body=body, foot=foot)

    pages = [
        (f"http://a.example/{number}{query}", shown(number, visit), shown(number, visit + 2))
        for number in range(12)
        for visit, query in enumerate(("", "?sid=a1"))
    ]
    found = verdicts(*pages)
    assert not any(found[::2])
    assert not found[1]
    assert all(found[5::2])
