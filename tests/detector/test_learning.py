"""What a detector learns: once of each page, kept for the next run, within bounds."""

from __future__ import annotations

import asyncio
import random
import zlib
from functools import partial

import numpy as np
import pytest

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.detector import Detector
from scrapy_neardup.evidence import furniture
from scrapy_neardup.evidence.sites import Lesson, Site
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import parse_html

PARAMETERS = Parameters()
TITLE = "<title>{} of the site</title>"


def words(seed, count=200):
    chance = random.Random(seed)
    return " ".join(f"w{chance.randrange(10**6)}" for _ in range(count))


def page(seed, advert="", address=None, length=12):
    analyser = Analyser(PARAMETERS)
    shown = words(f"advert {advert}", length)
    html = f"{TITLE.format(seed)}<p>{words(seed)}</p><div class=x>{shown}</div>"
    content = analyser.read(parse_html(html.encode()))
    url = f"http://a.example/{address or seed}"
    return analyser.page(content, page_id=hash(url) % 2**64, url=url)


def make(store):
    return Detector(Analyser(PARAMETERS), store, job="test", credits_learnt=True)


def playing(scenario):
    """Run a scenario with a store, and what makes a detector on it."""

    async def run():
        async with open_store("memory:", matching=PARAMETERS.matching) as store:
            await scenario(store, partial(make, store))

    asyncio.run(run())


def site_of(detector):
    [(_, site)] = detector._sites.items()
    return site


def test_a_page_that_is_withdrawn_and_judged_again_teaches_once():
    async def scenario(store, make):
        detector = make()
        for _ in range(5):
            assert (await detector.decide(page(1))).decision == "new"
            await store.forget(page(1).id)
        assert site_of(detector).furniture.pages == 1
        await detector.decide(page(2))
        assert site_of(detector).furniture.pages == 2
        # Met again under another session, and judged several times as it waits: one pair.
        for _ in range(5):
            again = await detector.decide(page(2, advert="new", address="2?sid=3141592653589793"))
            assert again.match is not None
        assert {tuple(seen) for seen in site_of(detector).places._seen.values()} == {(1.0, 0.0)}

    playing(scenario)


def test_a_detector_goes_on_where_another_was_closed():
    async def scenario(store, make):
        first = make()
        for number in range(40):
            again = f"{number}?sid=31415926535897932384"
            await first.decide(page(number, advert=number))
            await first.decide(page(number, advert=again, address=again))
        await first.close()
        second = make()
        await second.decide(page(40))
        expected, found = site_of(first), site_of(second)
        await first.decide(page(41))  # the 41st page of its site, too
        assert found.furniture.pages == expected.furniture.pages
        assert found.places.changing == expected.places.changing != frozenset()
        assert found.places.dump() == expected.places.dump()
        assert found.member == expected.member
        # What was left is taken up once: a run that is killed leaves nothing.
        third = make()
        await third.decide(page(42))
        assert site_of(third).furniture.pages == 1

    playing(scenario)


@pytest.mark.parametrize(
    "left",
    [b"", b"garbage", zlib.compress(b"[]"), zlib.compress(b'{"member": "x"}'),
     zlib.compress(b'{"member": "x", "taught": [1], "furniture": {}}')],
)  # fmt: skip
def test_what_cannot_be_read_is_passed_over(left):
    async def scenario(store, make):
        for topic in ("//a.example", "//a.example of test", "a.example", "a.example of test"):
            await store.exchange(topic, "someone", left)
        detector = make()
        assert (await detector.decide(page(1))).decision == "new"
        assert site_of(detector).furniture.pages == 1

    playing(scenario)


def test_what_is_left_is_bounded_and_holds_the_folders_seen_last(monkeypatch):
    site = Site()
    for folder in range(20):
        site.furniture.learn(f"/{folder}", np.arange(folder, folder + 1000, dtype=np.uint64))
    whole = Site.restored(site.state())
    assert [len(whole.furniture.state()["folders"]), site.is_due(7, Lesson.ALONE)] == [20, True]
    monkeypatch.setattr(furniture, "MAX_STATE", 200_000)
    state = site.state()
    folders = [name for name, _ in Site.restored(state).furniture.state()["folders"]]
    assert folders == [f"/{n}" for n in range(20)][-len(folders) :]
    assert 5 <= len(folders) < 20
    assert len(zlib.decompress(state)) < 300_000


def test_what_was_learnt_is_credited_where_it_decides():
    async def scenario(store, make):
        detector, credited = make(), []
        for number in range(12):
            again = f"{number}?sid=31415926535897932384"
            await detector.decide(page(number, advert=number, length=25))
            repeated = page(number, advert=again, address=again, length=25)
            verdict = await detector.decide(repeated)
            if verdict.is_duplicate:
                credited.append(verdict.match.learnt)
        assert credited.count(("places",)) > 5
        address = "11?sid=2718281828459045"
        equal = await detector.decide(page(11, advert=11, address=address, length=25))
        match = equal.match
        assert (equal.is_duplicate, match.learnt, match.decided.needed) == (True, (), 0.9)

    playing(scenario)
