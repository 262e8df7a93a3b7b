import multiprocessing
from itertools import count

import pytest
from judging import prose, store_for

from scrapy_neardup.judge import analysis
from scrapy_neardup.judge.analysis import Analyser, page_id
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.execution import Processes
from scrapy_neardup.offline.jobs.scanning import Captures, analyse, analyse_all, analysed, judge
from scrapy_neardup.offline.readers.corpus import Corpus, parts_of_records
from scrapy_neardup.offline.readers.files import REPEATED, FoundPage, identity
from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Decision, Reason

ANALYSER = Analyser(Parameters())


def record(number, **changes):
    text = " ".join(f"w{number * place}" for place in range(1, 41))
    return FoundPage(page=f"{number}.html", html=f"<html><p>{text}</p></html>".encode(), **changes)


def test_a_page_is_known_by_its_url_or_else_by_its_place():
    place = analyse(record(1), ANALYSER)
    assert (place.id, place.url) == (page_id(b"1.html"), "1.html")
    assert (place.tokens, place.exact, place.scope) == (40, False, "")
    secret = "http://me:secret@a.test/"
    url = analyse(FoundPage(page="http://a.test/", url=secret, text=" a" * 9), ANALYSER)
    assert (url.id, url.url) == (page_id(identity(secret)), "http://a.test/")


def test_html_and_its_text_have_one_fingerprint():
    page = record(1)
    text = page.html.decode().removeprefix("<html><p>").removesuffix("</p></html>")
    records = (page, FoundPage(page="x", text=text))
    assert len({analyse(record, ANALYSER).fingerprint for record in records}) == 1


def test_the_charset_that_the_source_tells_is_used():
    html = "<html><p>caf\u00e9 cr\u00e8me \u00e0 la fran\u00e7aise</p></html>"
    pages = [
        analyse(FoundPage(page="x", html=html.encode(charset), encoding=charset), ANALYSER)
        for charset in ("utf-8", "latin-1", "utf-16")
    ]
    assert len({page.fingerprint for page in pages}) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"html": b""}, Reason.EMPTY),
        ({"text": ""}, Reason.EMPTY),
        ({"html": b"\x00\x01\x02" * 99}, Reason.NOT_HTML),
        ({"html": b"<html>one two three four</html>"}, Reason.EMPTY),
        ({"html": b"%PDF-1.7 \xe2\xe3\xcf\xd3 one two three four five"}, Reason.NOT_HTML),
    ],
)
def test_what_cannot_be_judged(content, reason):
    verdict = analyse(FoundPage(page="x.html", **content), ANALYSER)
    assert (verdict.decision, verdict.reason) == (Decision.UNJUDGED, reason)


def test_a_page_that_cannot_be_read_at_all_stops_nothing(monkeypatch):
    analyser = Analyser(Parameters())
    monkeypatch.setattr(analyser, "read", lambda _: 1 / 0)
    found = analyse(FoundPage(page="p", html=b"<p>a"), analyser)
    assert (found.reason, found.detail) == (
        Reason.UNPARSABLE, "ZeroDivisionError: division by zero",
    )  # fmt: skip


def test_reading_ahead_is_bounded_and_ends_with_the_consumer():
    taken, others = [], set(multiprocessing.active_children())

    class Endless(Corpus):
        def parts(self, *, sent):
            return parts_of_records(taken.append(n) or record(n) for n in count(1))

    with Processes(2) as work:
        pages = analysed(Endless([]), ANALYSER, work)
        next(pages)
        assert len(taken) <= 7 * 16
        pages.close()
    assert set(multiprocessing.active_children()) <= others


@pytest.mark.parametrize("kind", ["text", "html"])
def test_equal_long_values_of_rows_are_read_once(monkeypatch, kind):
    """As a dictionary of Parquet has them: work is that of what a file holds, not of its rows."""
    read = []
    shingled = analysis.shingled
    monkeypatch.setattr(analysis, "shingled", lambda *page: read.append(page) or shingled(*page))
    long = "".join(f"<p>words of paragraph {number}</p>\n" for number in range(REPEATED // 25))
    value = long.encode() if kind == "html" else long
    records = [FoundPage(page=f"x:{number}", **{kind: value}) for number in range(9)]
    pages = [page for _, page in analyse_all(records, ANALYSER)]
    assert len(read) == 1
    assert pages == [analyse(each, Analyser(Parameters())) for each in records]
    assert len({page.id for page in pages}) == 9


async def test_a_new_page_is_confirmed_at_once():
    async with open_store("memory:") as store:
        detector = Detector(ANALYSER, store)
        first = await judge(analyse(record(1), ANALYSER), detector)
        unjudged = await judge(analyse(FoundPage(page="x", text=""), ANALYSER), detector)
        assert (first.decision, unjudged.reason) == (Decision.NEW, Reason.EMPTY)
        stats = await store.stats()
        assert (stats.pages, stats.pending) == (1, 0)


async def test_two_captures_of_one_url_show_what_changes_by_itself():
    parameters = Parameters()

    def captured(number, visit, query=""):
        shown = f"<p>{prose(number, 90)}</p><div>{prose(f'{number} {visit}', 25)}</div>"
        html = f"<title>{prose(number, 3)}</title>{shown}".encode()
        return FoundPage(page=(url := f"http://a.example/n/{number}{query}"), url=url, html=html)

    pages = [captured(number, visit) for number in range(12) for visit in ("first", "second")]
    copies = [captured(number, "copy", "?from=elsewhere") for number in range(12)]
    found = []
    for every in (pages[::2], pages):
        async with store_for(parameters) as store:
            captures = Captures(Detector(analyser := Analyser(parameters), store))
            for record in every:
                await captures.judge(analyse(record, analyser))
            verdicts = [await captures.judge(analyse(each, analyser)) for each in copies]
        found.append([verdict.is_duplicate for verdict in verdicts])
    assert not any(found[0])
    assert all(found[1])
