"""What is learnt of sites is bounded in bytes, whoever made their pages."""

import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tried import row

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import parse_html

MONTHS = range(1, 13)
MAX_HELD = 256 << 20
"""Maximum bytes of what is learnt of all sites."""


def hostile_pages(count: int, words: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield the addresses and the HTML of pages that have nothing in common.

    Hosts, folders, templates, titles and the long last lines are all different, as are the
    months of endless calendars; some hosts are met again and again, each time in another folder.
    """
    chance = random.Random(seed)
    for number in range(count):
        host = f"h{number}.test" if number % 4 else f"again{chance.randrange(8)}.test"
        title = " ".join(f"t{chance.getrandbits(40):x}" for _ in range(60))
        names = [f"c{chance.getrandbits(40):x}" for _ in range(8)]
        if number % 5 == 4:
            year, month = 1900 + number // 12, MONTHS[number % 12]
            days = " ".join(f"<td class={names[0]}>{day}" for day in range(1, 32))
            yield f"http://{host}/{names[1]}/{year}/{month}/", f"<table>{days}</table>{title}"
            continue
        blocks = "".join(f"<div class={name}><p>{name} is told apart</p></div>" for name in names)
        yield (
            f"http://{host}/{'/'.join(names)}/{number}?{names[0]}={number}",
            f"<title>{title}</title>{blocks}<p>{_line(number, words)}",
        )


def _line(number: int, words: int) -> str:
    drawn = np.random.default_rng(number).integers(0, 2**40, words)
    return " ".join(map("{:x}".format, drawn.tolist()))


def held_bytes(value: Any, seen: set[int] | None = None) -> int:
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type) or callable(value):
        return 0
    seen.add(id(value))
    total = sys.getsizeof(value)
    if isinstance(value, np.ndarray):
        return total + (held_bytes(value.base, seen) if value.base is not None else 0)
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = [*value]
    else:
        parts = []
    slots = (getattr(value, name, None) for name in getattr(type(value), "__slots__", ()))
    return total + sum(held_bytes(part, seen) for part in (*parts, *slots, *_fields(value)))


def _fields(value: Any) -> list[Any]:
    return list(getattr(value, "__dict__", {}).values())


HOSTILE = int(os.environ.get("STRESS_HOSTILE", "20000"))
MEGABYTE = 1 << 20


async def most_held(count: int, words: int) -> int:
    parameters, most = Parameters(), 0
    async with open_store("memory:", matching=parameters.matching) as store:
        detector = Detector(Analyser(parameters), store)
        for number, (url, html) in enumerate(hostile_pages(count, words)):
            content = detector.analyser.read(parse_html(html))
            await detector.decide(detector.analyser.page(content, page_id=number, url=url))
            if number % (count // 10) == count // 10 - 1:
                most = max(most, held_bytes(detector._sites))
    return most


async def test_sites_met_long_ago_are_forgotten(monkeypatch):
    # What 32 pages of 3,000 words add, until it is measured again, is some 3 megabytes.
    unbounded = await most_held(300, 3_000)
    monkeypatch.setattr("scrapy_neardup.judge.sites._HELD", unbounded // 4)
    bounded = await most_held(300, 3_000)
    assert bounded < unbounded // 4 + 4 * MEGABYTE < unbounded


@pytest.mark.stress
@pytest.mark.timeout(3600)
async def test_a_crawl_of_hostile_pages(record_property):
    most = await most_held(HOSTILE, 12_000)
    record_property("tried", row(f"hostile pages, {most / MEGABYTE:.0f} MB learnt", HOSTILE))
    assert most < MAX_HELD
