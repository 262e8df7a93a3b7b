"""No page is dropped below .8 of all that it shows, whatever its elements are called."""

import asyncio
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from judging import analysed, prose, store_for

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from made.promise import LOWEST, all_shown

NAMES = ["toc", "menu", "ad", "related", "breadcrumbs", "lastmod", "text"]


def block(seed, name, size, to):
    """Words in an element of this class; as links, if they lead anywhere."""
    words = prose(seed, size)
    if to is None:
        return f"<div class={name}>{words}</div>"
    each = max(1, size // 4)
    links = "".join(
        f"<li><a href=../x/{to}{n}.html>{prose(f'{seed} {n}', each)}</a>" for n in range(4)
    )
    return f"<ul class={name}>{links}</ul>"


blocks = st.tuples(
    st.integers(0, 3), st.sampled_from(NAMES), st.sampled_from([2, 8, 30, 90]),
    st.sampled_from([None, None, "a", "b"]),
)  # fmt: skip
texts, titles = st.integers(0, 2), st.sampled_from(["One", "One", "Two", ""])
contents = st.tuples(texts, st.sampled_from([25, 60, 200]), st.lists(blocks, max_size=4), titles)
pages = st.tuples(
    contents,
    st.sampled_from(["en", "de", "v1"]),
    st.sampled_from(["1.html", "2.html"]),
    st.booleans(),  # whether it names one page as its canonical one
)


def html(text, size, around, title, *, names_canonical):
    link = "<link rel=canonical href=/>" if names_canonical else ""
    elements = "".join(block(*each) for each in around)
    return f"<title>{title}</title>{link}{elements}<p>{prose(f'text {text}', size)}</p>"


async def shown(given_pages, filling):
    """Yield what pages that are dropped share with the ones that they repeat."""
    parameters, found = Parameters(), []
    async with store_for(parameters) as store:
        detector = Detector(Analyser(parameters), store)
        read = analysed(detector.analyser, given_pages)
        for page in read:
            verdict = await detector.decide(page)
            if not verdict.is_duplicate:
                await store.confirm(page.id)
                continue
            both = page, read[verdict.match.page_id]
            excluded = [detector._sites.exclude(each.known) for each in both]
            found.append((all_shown(both, excluded), verdict))
    assert len(read) > filling
    return found


@settings(max_examples=60, deadline=None)
@given(given_pages=st.lists(pages, min_size=2, max_size=12), filling=st.sampled_from([0, 9]))
def test_nothing_is_dropped_that_shows_something_else(given_pages, filling):
    before = [
        (f"http://a.test/{folder}/f{n}.html", f"<title>F{n}</title><p>{prose(f'f {n}', 40)}")
        for n in range(filling)
        for folder in ("en", "de")
    ]
    made = [
        (f"http://a.test/{folder}/{number}/{name}", html(*content, names_canonical=canonical))
        for number, (content, folder, name, canonical) in enumerate(given_pages)
    ]
    for value, verdict in asyncio.run(shown(before + made, len(before))):
        assert value >= LOWEST, verdict


def test_the_property_can_fail():
    """A table of contents that differs in where it leads is no navigation."""
    of = lambda seed, to: html(1, 60, [(seed, "toc", 90, to)], "One", names_canonical=False)
    filling = [(f"http://a.test/f{n}", f"<title>F{n}</title>{prose(n, 40)}") for n in range(9)]
    for to, drops in (("a", 1), ("b", 0)):
        pair = [("http://a.test/en/1.html", of(1, "a")), ("http://a.test/de/1.html", of(2, to))]
        assert len(asyncio.run(shown(filling + pair, 0))) == drops
