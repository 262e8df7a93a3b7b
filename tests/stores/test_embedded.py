"""The index in memory: loading, running out of memory, many equal keys."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from deciders import NEW, by_evidence, nothing
from matching_pages import Site, own_evidence
from store_registry import page

from scrapy_neardup.stores import Matching
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL, StoreOptions
from scrapy_neardup.stores.embedded.memorystore import EmbeddedIndex, IndexOutcome, Keeper
from scrapy_neardup.stores.embedded.rowmap import RowMap
from scrapy_neardup.stores.entryformat import Chunk, record_dtype
from scrapy_neardup.tables import HammingIndex
from scrapy_neardup.verdict import Decided, Page, Reason

MATCHING = Matching(features=2, text_bits=64, named_bits=64)


def index_of(k, pages, matching=Matching()):  # noqa: B008  (it never changes)
    return EmbeddedIndex(StoreOptions(max_distance=k, expected_pages=pages, matching=matching))


def check(index: EmbeddedIndex, page: Page) -> IndexOutcome:
    """Return what follows if equal evidence is repeated, and tokens contradict."""
    return index.check_and_add(page, by_evidence(Matching())(page))


def filled(site: Site, k: int) -> tuple[EmbeddedIndex, list[int]]:
    index, rng, rows = index_of(k, 1000, site.matching), site.rng, set()
    for page_id in range(400):
        arrival = replace(site.page(), id=page_id)
        if index.check_and_add(arrival, by_evidence(site.matching)(arrival)).reason not in NEW:
            continue
        if rng.random() < 0.8:
            rows.add(index._pending[page_id])
            assert index.confirm(page_id)
        else:
            index.forget(page_id)
    return index, sorted(rows)


def chunks(index: EmbeddedIndex, rows: list[int], size: int, features: int = 0) -> list[Chunk]:
    dtype = record_dtype(features)
    found = []
    for part in (rows[start : start + size] for start in range(0, len(rows), size)):
        records = [index.record(row) for row in part]
        joined = b"".join(record[: dtype.itemsize] for record in records)
        evidence = [record[dtype.itemsize :] for record in records]
        found.append(Chunk(np.array(part, np.uint32), np.frombuffer(joined, dtype), evidence))
    return found


@pytest.mark.parametrize("matching", [Matching(), MATCHING], ids=["plain", "evidence"])
@pytest.mark.parametrize("k", [0, 3, 8])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_loaded_decides_as_what_was_added(k, size, matching):
    site = Site(k, matching)
    index, rows = filled(site, k)
    loaded = index_of(k, 1000, matching)
    loaded.load(chunks(index, rows, size, matching.features))
    assert loaded.stats().pages == index.stats().pages == len(rows)
    assert loaded.stats().dropped == index.stats().dropped > 0
    for page_id in range(200, 800):
        arrival = replace(site.page(), id=page_id)
        decide = by_evidence(matching)(arrival)
        ours, theirs = (each.check_and_add(arrival, decide) for each in (loaded, index))
        # Which of the free rows is taken next is nobody's business.
        assert repr(ours._replace(row=0)) == repr(theirs._replace(row=0))


def test_memory_is_that_of_all_that_is_held():
    plain, index = (index_of(k, 10**6) for k in (0, 3))
    tables = index._candidates._near.nbytes
    assert index.stats().memory_bytes - plain.stats().memory_bytes == tables > 10**6


def test_entries_that_a_smaller_index_has_no_room_for_are_held_and_counted():
    rng = random.Random(4)
    large = index_of(3, 2**26)
    outcomes = [check(large, page(number, rng.getrandbits(32))) for number in range(5000)]
    rows = [outcome.row for outcome in outcomes if outcome.reason in NEW]
    assert large.stats().overflowed == 0
    small = index_of(3, 1)
    small.load(chunks(large, rows, 1000))
    stats = small.stats()
    assert (stats.pages, stats.overflowed) == (len(rows), len(rows) - 4096)
    # Each of them can still be replaced, whether it is in the tables or not.
    for number in range(5000):
        assert check(small, page(number, 2**63 | number << 40, exact=True)).reason in NEW
    assert small.stats().pages == 5000
    assert len(small._candidates._near) == 0


@pytest.mark.parametrize(("k", "flip"), [(0, 0), (3, 0), (3, 1), (8, 1)])
def test_pages_unlike_all_that_are_near_are_kept_and_asked_about_a_bounded_number(k, flip):
    index = index_of(k, 1000)
    shells = [page(number, 5 ^ (flip << number % 64)) for number in range(MAX_EQUAL + 4)]
    assert all(index.check_and_add(shell, nothing(shell)).reason in NEW for shell in shells)
    assert (index.stats().pages, index.stats().overflowed) == (MAX_EQUAL + 4, 0)
    asked = []
    index.check_and_add(page(9000, 5), lambda each: asked.append(each) or nothing(None)(each))
    assert len(asked) == MAX_COMPARED
    sixth = lambda each: Decided(is_same=each.page_id == 6, rule="")
    assert index.check_and_add(page(9001, 5), sixth).match.page_id == 6
    assert check(index, shells[6]).reason is Reason.SAME_PAGE


def test_only_so_many_exact_entries_are_looked_up_by_one_fingerprint():
    index, evidence = index_of(3, 1000, MATCHING), bytes(MATCHING.evidence_size)
    for number in range(MAX_EQUAL + 4):
        shell = page(number, 5, exact=True, features=(1, number + 2), evidence=evidence)
        assert index.check_and_add(shell, nothing(shell)).reason in NEW
    assert index.stats().pages == MAX_EQUAL + 4
    listed = index._candidates._by_fingerprint.rows(index._entries.masked[0])
    assert len(listed) == MAX_EQUAL


def test_evidence_of_another_length_is_refused():
    index = index_of(3, 1000, MATCHING)
    with pytest.raises(ValueError, match="evidence of 4 bytes instead of"):
        check(index, page(1, 0, features=(1, 2), evidence=b"four"))
    assert index.stats().pages == 0


STEPS = ["grow", "near", "fingerprint", "page id", "first feature", "last feature"]


@pytest.mark.parametrize("fingerprint", [0, 2**64 - 1])
@pytest.mark.parametrize("step", STEPS)
def test_out_of_memory_leaves_the_index_as_it_was(step, fingerprint, monkeypatch):
    def sketched(page_id: int, fingerprint: int, byte: bytes) -> Page:
        evidence = own_evidence(byte, MATCHING)
        return page(page_id, fingerprint, features=(byte[0] + 1, byte[0] + 2), evidence=evidence)

    index = index_of(3, 1000, MATCHING)
    check(index, sketched(1, 0, b"a"))
    check(index, sketched(2, 0, b"a"))
    before = index.stats()
    arrival = sketched(1, fingerprint, b"z")
    ways = index._candidates

    def fail(*_: object) -> None:
        raise MemoryError

    rowmaps = {
        "fingerprint": ways._by_fingerprint, "page id": ways._by_page_id,
        "first feature": ways._by_feature[0], "last feature": ways._by_feature[1],
    }  # fmt: skip
    add = RowMap.add
    with monkeypatch.context() as patch:
        if step == "grow":
            patch.setattr(index._entries, "grow", fail)
        elif step == "near":
            patch.setattr(HammingIndex, "add", fail)
        else:
            failing = lambda self, row: (fail if self is rowmaps[step] else add)(self, row)
            patch.setattr(RowMap, "add", failing)
        with pytest.raises(MemoryError):
            check(index, arrival)
    after = index.stats()  # room that was made for the page may stay
    assert replace(after, memory_bytes=before.memory_bytes) == before
    assert len(ways._near) == len(ways._by_fingerprint) == 1
    assert [len(by_feature) for by_feature in ways._by_feature] == [1, 1]
    assert check(index, sketched(3, 1, b"a")).match.page_id == 1
    assert check(index, arrival).reason is Reason.CHANGED
    assert check(index, sketched(4, 0, b"y")).reason in NEW


async def test_urls_are_those_of_their_rows():
    rng = random.Random(3)
    urls, expected = Keeper(), {}
    for _ in range(2_000):
        row = rng.randrange(30)
        if row in expected:
            assert await urls.url(row, 0) == expected.pop(row)
            urls.delete(row)
        else:
            url = rng.choice((None, "", "https://ü.example/" + "x" * rng.randrange(60), "\ud800"))
            urls.hold(row, url)
            expected[row] = url or None
    for row in expected:
        urls.delete(row)
    assert urls.nbytes < 1000
