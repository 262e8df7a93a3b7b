"""What is learnt of sites is bounded in bytes, whoever made their pages."""

from __future__ import annotations

import asyncio
import os

import numpy as np
import pytest
from hostile_pages import held_bytes, hostile_pages
from tried import row

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.detector import Detector
from scrapy_neardup.evidence import sites
from scrapy_neardup.evidence.counts import Counts
from scrapy_neardup.evidence.furniture import SiteFurniture
from scrapy_neardup.evidence.sites import MAX_HELD, Sites
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import parse_html

HOSTILE = int(os.environ.get("STRESS_HOSTILE", "20000"))
MEGABYTE = 1 << 20


async def most_held(known: Sites, count: int, words: int) -> int:
    """Return the most bytes held while that many hostile pages are judged."""
    parameters, most = Parameters(), 0
    async with open_store("memory:", matching=parameters.matching) as store:
        detector = Detector(Analyser(parameters), store)
        detector._sites = known
        for number, (url, html) in enumerate(hostile_pages(count, words)):
            content = detector.analyser.read(parse_html(html))
            await detector.judge(content, page_id=number, url=url)
            if number % (count // 10) == count // 10 - 1:
                most = max(most, held_bytes(known))
    return most


def test_sites_met_long_ago_are_forgotten():
    # What 32 pages of 3,000 words add, until it is measured again, is some 3 megabytes.
    assert asyncio.run(most_held(Sites(4 * MEGABYTE), 300, 3_000)) < 8 * MEGABYTE


@pytest.mark.stress
@pytest.mark.timeout(3600)
def test_a_crawl_of_hostile_pages(record_property):
    most = asyncio.run(most_held(Sites(), HOSTILE, 12_000))
    record_property("tried", row(f"hostile pages, {most / MEGABYTE:.0f} MB learnt", HOSTILE))
    assert most < MAX_HELD


def test_a_site_that_is_met_again_is_known_while_there_is_room(monkeypatch):
    monkeypatch.setattr(sites, "_MEASURED", 1)
    known = Sites(MEGABYTE)
    usual = known["usual.test"]
    for number in range(200):
        known[f"{number}.test"].furniture.learn("/", shingles(number, 2_000))
        assert known["usual.test"] is usual
    assert "0.test" not in known
    assert "199.test" in known


def test_folders_met_long_ago_are_forgotten():
    furniture = SiteFurniture()
    for number in range(100):
        furniture.learn(f"/{number}", shingles(number, 5_000))
    furniture.shrink(MEGABYTE)
    assert furniture.nbytes <= MEGABYTE
    assert furniture.pages_of("/99") == 1
    assert furniture.pages_of("/0") == 0


def test_of_shingles_that_are_equally_frequent_no_more_are_kept():
    counts = Counts()
    for number in range(40):
        counts.add(shingles(number % 4, 8_000))
    assert len(counts.shingles) == 8_192


def test_of_a_long_page_nothing_else_is_held():
    furniture = SiteFurniture()
    for number in range(5):
        furniture.learn("/", shingles(number, 100_000))
    assert held_bytes(furniture) < 2 * MEGABYTE


def shingles(seed: int, count: int):
    return np.unique(np.random.default_rng(seed).integers(0, 2**63, count).astype(np.uint64))
