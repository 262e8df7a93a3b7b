"""What is learnt of sites is bounded in bytes, whoever made their pages."""

import os

import pytest
from hostile_pages import held_bytes, hostile_pages
from tried import row

from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.pipeline.detector import Detector
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.site.sites import MAX_HELD
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import parse_html

HOSTILE = int(os.environ.get("STRESS_HOSTILE", "20000"))
MEGABYTE = 1 << 20


async def most_held(count: int, words: int, held: int | None = None) -> int:
    parameters, most = Parameters(), 0
    async with open_store("memory:", matching=parameters.matching) as store:
        detector = Detector(Analyser(parameters), store)
        detector._sites._held = held or detector._sites._held
        for number, (url, html) in enumerate(hostile_pages(count, words)):
            content = detector.analyser.read(parse_html(html))
            await detector.judge(content, page_id=number, url=url)
            if number % (count // 10) == count // 10 - 1:
                most = max(most, held_bytes(detector._sites))
    return most


async def test_sites_met_long_ago_are_forgotten():
    # What 32 pages of 3,000 words add, until it is measured again, is some 3 megabytes.
    unbounded = await most_held(300, 3_000)
    bounded = await most_held(300, 3_000, unbounded // 4)
    assert bounded < unbounded // 4 + 4 * MEGABYTE < unbounded


@pytest.mark.stress
@pytest.mark.timeout(3600)
async def test_a_crawl_of_hostile_pages(record_property):
    most = await most_held(HOSTILE, 12_000)
    record_property("tried", row(f"hostile pages, {most / MEGABYTE:.0f} MB learnt", HOSTILE))
    assert most < MAX_HELD
