"""Whatever is repeated, nested or left open in a page: its CPU time grows with its size alone."""

import asyncio
import os
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from structures import Run, Structure, structures

from scrapy_neardup.errors import InputError
from scrapy_neardup.pipeline.analysis import Analyser
from scrapy_neardup.pipeline.detector import Detector
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import link_targets, parse_html
from scrapy_neardup.verdict import Decision

STRUCTURES = int(os.environ.get("STRESS_STRUCTURES", "300"))
SIZE, TIMES = 20_000, 16
"""Characters of the smaller page; how much larger the larger one is."""
MOST = 4 * TIMES
"""What it may cost, in times of the smaller one; in quadratic time it would be 256."""
LEAST = 0.005
"""Seconds below which nothing can be told."""
SECOND_PER_CHARACTER = 1e-6
ORDINARY = Structure((Run("siblings", ("p",), "class", "x", "x{k} 7 hits "),), "a/", 3)
TIMES_ORDINARY = 2
"""A page that costs more a character than it may is slow only if it costs more than as many times
what an ordinary one of its size costs meanwhile: other work slows both down."""
TRIES = 3
"""A page that seems slow is measured as often; the least counts."""

pytestmark = [pytest.mark.stress, pytest.mark.timeout(86_400)]


def judged(body: bytes, url: str) -> None:
    """Parse, read and judge a page, twice, so that it is compared as well."""
    parameters = Parameters()

    async def judge() -> None:
        async with open_store("memory:", matching=parameters.matching) as store:
            detector = Detector(Analyser(parameters), store)
            for number in (1, 2):
                content = detector.analyser.read(root)
                verdict = await detector.judge(content, page_id=number, url=url)
                if verdict.decision is Decision.NEW:
                    await store.confirm(number)

    with suppress(InputError):
        root = parse_html(body)
        asyncio.run(judge())
        link_targets(root, url)


def seconds(structure: Structure, size: int) -> float:
    """Return the CPU time of a page of this size."""
    body = structure.html(size)
    start = time.process_time()
    judged(body, structure.url)
    return time.process_time() - start


def is_slow(structure: Structure) -> str:
    """Return in what a page is out of proportion, or nothing."""
    small, large = seconds(structure, SIZE), seconds(structure, TIMES * SIZE)
    most = SECOND_PER_CHARACTER * TIMES * SIZE
    for _ in range(TRIES):
        if large <= min(MOST * max(small, LEAST), most):
            return ""
        most = max(most, TIMES_ORDINARY * seconds(ORDINARY, TIMES * SIZE))
        small = max(small, seconds(structure, SIZE))
        large = min(large, seconds(structure, TIMES * SIZE))
    return f"{small:.3f} s for {SIZE:,} characters, {large:.3f} s for {TIMES * SIZE:,}"


def test_structures(tried):
    slowest = 0.0

    @settings(max_examples=STRUCTURES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(structures)
    def each(structure):
        nonlocal slowest
        start = time.process_time()
        assert not is_slow(structure)
        slowest = max(slowest, time.process_time() - start)

    each()
    tried("structures, in two sizes", STRUCTURES, longest=slowest)
