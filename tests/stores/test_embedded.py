"""The index in memory: loading, running out of memory, many equal keys."""

from __future__ import annotations

import random

import numpy as np
import pytest
from store_registry import page

from scrapy_neardup.stores.candidates import MOST_CONTRADICTED
from scrapy_neardup.stores.embedded import EmbeddedIndex
from scrapy_neardup.stores.records import ENTRY_DTYPE, Chunk
from scrapy_neardup.tables import HammingIndex
from scrapy_neardup.verdict import Decision, Page, Reason


def random_page(rng: random.Random, page_id: int, centres: list[int]) -> Page:
    flips = sum({1 << rng.randrange(64) for _ in range(rng.randrange(9))})
    return page(
        page_id,
        rng.choice(centres) ^ flips,
        exact=rng.random() < 0.2,
        scope=rng.choice(("", "a.example")),
        title=rng.randrange(3),
        content=rng.randrange(3),
    )


def filled(rng: random.Random, k: int, centres: list[int]) -> tuple[EmbeddedIndex, list[int]]:
    """Return an index of kept entries, and the rows that they are in."""
    index = EmbeddedIndex(k, 1000)
    rows = set()
    for page_id in range(400):
        outcome = index.check_and_add(random_page(rng, page_id, centres))
        if outcome.decision is not Decision.NEW:
            continue
        if rng.random() < 0.8:
            rows.add(index.confirm(page_id))
        else:
            row, _ = index.forget(page_id)
            if rng.random() < 0.5:
                index.release(row)
    return index, sorted(rows)


def chunks(index: EmbeddedIndex, rows: list[int], size: int) -> list[Chunk]:
    return [
        Chunk(
            np.array(part, np.uint32),
            np.frombuffer(b"".join(map(index.record, part)), ENTRY_DTYPE),
        )
        for part in (rows[start : start + size] for start in range(0, len(rows), size))
    ]


@pytest.mark.parametrize("k", [0, 3, 8])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_loaded_decides_as_what_was_added(k, size):
    rng = random.Random(k)
    centres = [rng.getrandbits(64) for _ in range(5)]
    index, rows = filled(rng, k, centres)
    loaded = EmbeddedIndex(k, 1000)
    loaded.load(chunks(index, rows, size))
    assert loaded.stats(0).pages == index.stats(0).pages == len(rows)
    assert loaded.stats(0).dropped == index.stats(0).dropped > 0
    for page_id in range(200, 800):
        arrival = random_page(rng, page_id, centres)
        # Which of the free rows is taken next is nobody's business.
        ours, theirs = loaded.check_and_add(arrival), index.check_and_add(arrival)
        assert ours.verdict(arrival) == theirs.verdict(arrival)
        for each, outcome in ((loaded, ours), (index, theirs)):
            if outcome.withdrawn >= 0:
                each.release(outcome.withdrawn)


def test_rows_that_are_free_in_what_is_loaded_are_used_again():
    index = EmbeddedIndex(3, 1000)
    for number in range(10):
        index.check_and_add(page(number, number * 0x1111))
    index_of_some = EmbeddedIndex(3, 1000)
    index_of_some.load(chunks(index, [1, 2, 6, 8], 3))
    rows = {index_of_some.check_and_add(page(90 + n, -1 - n & 2**64 - 1)).row for n in range(1)}
    rows |= {index_of_some.check_and_add(page(80 + n, 0xFF << 8 * n + 8)).row for n in range(6)}
    assert rows == {0, 3, 4, 5, 7, 9, 10}


def test_released_rows_are_used_again():
    index = EmbeddedIndex(3, 1000)
    rows = set()
    for edition in range(20):
        for number in range(10):
            fingerprint = (edition * 10 + number + 1) * 0x9E3779B97F4A7C15 % 2**64
            outcome = index.check_and_add(page(number, fingerprint))
            rows.add(outcome.row)
            if outcome.withdrawn >= 0:
                index.release(outcome.withdrawn)
    assert rows == set(range(11))


def test_entries_that_a_smaller_index_has_no_room_for_are_held_and_counted():
    rng = random.Random(4)
    large = EmbeddedIndex(3, 2**26)
    rows = [
        outcome.row
        for number in range(5000)
        if (outcome := large.check_and_add(page(number, rng.getrandbits(32)))).decision
        is Decision.NEW
    ]
    assert large.stats(0).overflowed == 0
    small = EmbeddedIndex(3, 1)
    small.load(chunks(large, rows, 1000))
    stats = small.stats(0)
    assert (stats.pages, stats.overflowed) == (len(rows), len(rows) - 4096)
    # Each of them can still be replaced, whether it is in the tables or not.
    for number in range(5000):
        outcome = small.check_and_add(page(number, 2**63 | number << 40, exact=True))
        assert outcome.decision is Decision.NEW
    assert small.stats(0).pages == 5000
    assert len(small._candidates._near) == 0


@pytest.mark.parametrize(("k", "flip"), [(0, 0), (3, 0), (3, 1), (8, 1)])
def test_pages_that_contradict_all_that_are_near_are_not_remembered_for_ever(k, flip):
    def shell(number: int) -> Page:
        bit = flip << number % 64
        return page(number, 5 ^ bit, title=number + 1, content=number + 1)

    index = EmbeddedIndex(k, 1000)
    outcomes = [index.check_and_add(shell(number)) for number in range(MOST_CONTRADICTED + 4)]
    reasons = [outcome.reason for outcome in outcomes]
    assert reasons == [Reason.UNMATCHED] * MOST_CONTRADICTED + [Reason.OVERFLOW] * 4
    assert index.stats(0).overflowed == 4
    assert index.check_and_add(page(9000, 5, title=7, content=0)).page_id == 6
    assert index.check_and_add(shell(6)).decision is Decision.SEEN


@pytest.mark.parametrize("step", ["grow", "near", "key", "page id"])
def test_out_of_memory_leaves_the_index_as_it_was(step, monkeypatch):
    index = EmbeddedIndex(3, 1000)
    index.check_and_add(page(1, 0))
    index.check_and_add(page(2, 0))
    before = index.stats(0)
    arrival = page(1, 2**64 - 1)

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        if step == "grow":
            patch.setattr(index._entries, "grow", fail)
        elif step == "near":
            patch.setattr(HammingIndex, "add", fail)
        else:
            ways = index._candidates
            rowmap = ways._by_key if step == "key" else ways._by_page_id
            patch.setattr(type(rowmap), "add", _failing_for(rowmap, type(rowmap).add))
        with pytest.raises(MemoryError):
            index.check_and_add(arrival)
    assert index.stats(0) == before
    assert len(index._candidates._near) == 1
    assert index.check_and_add(page(3, 1)).page_id == 1
    assert index.check_and_add(arrival).reason is Reason.CHANGED
    assert index.check_and_add(page(4, 0)).decision is Decision.NEW


def _failing_for(target, add):
    def failing(self, row):
        if self is target:
            raise MemoryError
        add(self, row)

    return failing
