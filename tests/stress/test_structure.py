"""Whatever is repeated, nested or left open in a page: its CPU time grows with its size alone."""

import asyncio
import os
import time
from contextlib import suppress
from typing import NamedTuple

import pytest
from hostile_trees import ATTRIBUTES, TAGS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_neardup.errors import InputError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import link_targets, parse_html
from scrapy_neardup.verdict import Decision

_WORDS = (
    "nav", "nav ", "nav-{k} ", "Ad", "x", "x{k} ", "7", "7 ", "{k} ", "1.", "-", "_", "__A", "é ",
    "中", "\u0301", "\u0316\u0301", "\u2028", " ", "\n", "&", "&amp;", "12:30 ", "12:", "2024-01-",
    "2024 ", "1 January ", "January ", "5 hits ", "hits ", "a/", "../", "a,b ", "?_=1&", "data:",
    "[{{", "initialState", "window.__A__ = ", '"a":', "//", "<", "</", "<!--", "<!", "<?",
    "http://a.test/",
)  # fmt: skip


class Run(NamedTuple):
    """One unit, again and again; ``{k}`` in it counts."""

    kind: str
    tags: tuple[str, ...]
    attribute: str
    word: str
    text: str

    def html(self, size: int) -> str:
        if self.kind in {"text", "attribute"}:
            long = _counted(self.word, size)
            quoted = long.replace('"', "") if self.kind == "attribute" else ""
            opened = f'<{self.tags[0]} {self.attribute}="{quoted}">'
            return opened + (self.text if quoted else long) + f"</{self.tags[0]}>"
        value = self.word.replace('"', "")
        opening = "".join(f'<{tag} {self.attribute}="{value}">' for tag in self.tags)
        closing = "".join(f"</{tag}>" for tag in reversed(self.tags))
        if self.kind == "siblings":
            return _counted(opening + self.text + closing, size)
        if self.kind == "unclosed":
            return _counted(opening + self.text, size)
        times = size // (len(opening) + len(closing)) + 1
        return _counted(opening, times * len(opening)) + self.text + closing * times


def _counted(unit: str, size: int) -> str:
    times = size // len(unit) + 1
    if "{k}" not in unit:
        return unit * times
    return "".join(unit.replace("{k}", str(number)) for number in range(times))


class Structure(NamedTuple):
    """A page, and its address."""

    runs: tuple[Run, ...]
    step: str
    steps: int

    def html(self, size: int) -> bytes:
        parts = (run.html(size // len(self.runs)) for run in self.runs)
        return "".join(parts).encode()

    @property
    def url(self) -> str:
        """The address, which doesn't grow with the page."""
        return "http://a.test/" + self.step * self.steps


_words = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map("".join)
_runs = st.builds(
    Run,
    st.sampled_from(["siblings", "nested", "unclosed", "text", "attribute"]),
    st.lists(st.sampled_from(TAGS), min_size=1, max_size=2).map(tuple),
    st.sampled_from(ATTRIBUTES),
    _words,
    _words,
)
structures = st.builds(
    Structure,
    st.lists(_runs, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["a/", "nav-7/", "?a=1&", "2024/", "%C3%A9", "7"]),
    st.integers(0, 1_000),
)


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
                page = detector.analyser.page(content, page_id=number, url=url)
                verdict = await detector.decide(page)
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
