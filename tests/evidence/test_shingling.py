"""The shingles of a page and their owners, against plain Python."""

import random
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from resembling_sets import HASH_SETS

from scrapy_neardup.evidence.layout import BORDER, LINKS, NAMED
from scrapy_neardup.evidence.places import named_places, tracked
from scrapy_neardup.evidence.shingling import owned, row_sums, streams
from scrapy_neardup.fingerprints.minwise import held_by, one_permutation_sketch, owners
from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.text import Block, Blocks, Form

TOKENS = st.integers(1, 60)
ROWS = st.lists(
    st.tuples(st.lists(TOKENS, min_size=1, max_size=12), st.integers(1, 3), st.booleans()),
    min_size=1,
    max_size=12,
)


def tokens(values):
    """Tokens that are as unlike each other as hashes are."""
    return np.array([value * 0x9E3779B97F4A7C15 % 2**64 for value in values], np.uint64)


def page_of(blocks, named=(), links=()):
    """A page of these blocks of content, with others between them."""
    words, places, joined = (list(column) for column in zip(*blocks, strict=True))
    asides = (named, Form.NAMED), (links[:2], Form.LINKS), (links[2:], Form.LINKS)
    forms = [Form.CONTENT] * len(words)
    for aside, form in asides:
        words[1:1], forms[1:1], places[1:1], joined[1:1] = [aside], [form], [1], [False]
    counts = np.array([*map(len, words)], np.int64)
    texts = [""] * len(words)  # nothing looks at them
    blocks = Blocks.of([*map(Block, texts, forms, places, joined)])
    return streams(tokens(chain.from_iterable(words)), counts, blocks)


def shingles_of(page, size):
    """The shingles of a page, each of `size` tokens."""
    core, named, links, counts, starts_row, owners, *_ = page
    return owned(core, counts, owners, starts_row, named, links, size)


def hashed(words):
    """Return the one shingle of these tokens."""
    return int(shingle_hashes(tokens(words), len(words))[0])


def by_definition(blocks, named, links, size):
    """Return owner by shingle: of each window of the text, and of each row that is shorter."""
    words = [word for block, *_ in blocks for word in block]
    rows, row = [], -1
    for number, (block, _, joined) in enumerate(blocks):
        row += number == 0 or not joined
        rows += [row] * len(block)
    counts = [len(block) for block, *_ in blocks]
    of_blocks = named_places([place for _, place, _ in blocks])
    told = tracked(of_blocks, counts, len(words) + len(named) + len(links))
    of_words = [
        told.index(place) + 1 if place in told else 0
        for place, count in zip(of_blocks, counts, strict=True)
        for _ in range(count)
    ]
    found = {}

    def add(hash_, owner):
        found[hash_] = min(owner, found.get(hash_, owner))

    several = len(blocks) > 1 and len(words) >= size
    for start in range(max(1, len(words) - size + 1)):
        window = words[start : start + size]
        owner = 0
        if several:
            owner = of_words[start] if rows[start] == rows[start + size - 1] else BORDER
        add(hashed(window), owner)
    if several:
        for number in range(row + 1):
            of_row = [at for at, each in enumerate(rows) if each == number]
            if 0 < len(of_row) < size:
                add(hashed([words[at] for at in of_row]), of_words[of_row[0]])
    for aside, owner in ((named, NAMED), (links, LINKS)):
        for start in range(max(1, len(aside) - size + 1) if aside else 0):
            add(hashed(aside[start : start + size]), owner)
    return found


ASIDE = st.lists(TOKENS, max_size=12)


@given(ROWS, ASIDE, ASIDE, st.integers(2, 5))
def test_owners_are_as_defined(blocks, named, links, size):
    page = page_of(blocks, named, links)
    found = shingles_of(page, size)
    core = [word for block, *_ in blocks for word in block]
    if len(core) < min(40, (len(core) + len(named) + len(links)) / 2):
        # Too little beside the rest: all of the text is the core, and only places start rows.
        asides = [(aside, 1, False) for aside in (links[2:], links[:2], named)]
        blocks = [blocks[0], *asides, *blocks[1:]]
        named = links = []
        own = page.owners.tolist()
        joined = [False, *(one == other for one, other in pairwise(own))]
        blocks = [(*block[:2], is_joined) for block, is_joined in zip(blocks, joined, strict=True)]
    links = [*links[2:], *links[:2]]
    expected = by_definition(blocks, named, links, size)
    assert found.shingles.tolist() == sorted(expected)
    assert dict(zip(found.shingles.tolist(), found.owners.tolist(), strict=True)) == expected
    rows = sorted(hash_ for hash_, owner in expected.items() if owner < BORDER)
    assert found.rows.tolist() == (rows or sorted(expected))
    sums = [sum(hash_ for hash_, of in expected.items() if of == owner) for owner in range(BORDER)]
    assert row_sums(found.shingles, found.owners) == tuple(sum_ % 2**16 for sum_ in sums)
    assert len(page.texts) == len(page.places)
    assert page.owners.max(initial=0) <= len(page.places)


@given(st.lists(st.lists(TOKENS, min_size=1, max_size=9), min_size=2, max_size=12), st.randoms())
def test_rows_are_the_same_in_any_order(rows, chance):
    def found(rows):
        blocks = [(row, 1, False) for row in rows]
        return shingles_of(page_of(blocks), 4).rows.tolist()

    shuffled = list(rows)
    chance.shuffle(shuffled)
    if sum(map(len, rows)) >= 4:
        assert found(shuffled) == found(rows)


def test_cells_of_a_row_are_one_row():
    cells = [([1, 2], 1, False), ([3, 4], 1, True), ([5, 6], 1, False), ([7, 8], 1, True)]
    found = shingles_of(page_of(cells), 4)
    assert found.rows.tolist() == sorted([hashed([1, 2, 3, 4]), hashed([5, 6, 7, 8])])


def test_a_tracked_place_is_told_by_its_text():
    chance = random.Random(1)
    blocks = [([chance.randrange(50) for _ in range(40)], place, False) for place in (1, 1, 1)]
    blocks.append(([1, 2, 3, 4, 5], 2, False))
    other = [*blocks[:-1], ([1, 2, 3, 4, 6], 2, False)]
    ours, same, theirs = map(page_of, (blocks, blocks, other))
    assert (ours.places, ours.texts) == (same.places, same.texts)
    assert ours.places == theirs.places
    assert [a == b for a, b in zip(ours.texts, theirs.texts, strict=True)] == [False, *[True] * 3]


@pytest.mark.parametrize("bins", [16, 128, 512])
@given(shingles=HASH_SETS, seed=st.integers(0, 2**32))
def test_the_owner_of_a_bin_is_that_of_its_minimum(bins, shingles, seed):
    chance = np.random.default_rng(seed)
    owner = chance.integers(0, 8, len(shingles)).astype(np.uint8)
    sketch = one_permutation_sketch(shingles, bins)
    expected = np.zeros(bins, np.uint8)
    for shingle_, name in zip(shingles, owner, strict=True):
        if name:  # the bins that would have another minimum without it
            expected[held_by(sketch, np.array([shingle_], np.uint64))] = name
    named = owner > 0
    assert owners(sketch, shingles[named], owner[named]).tolist() == expected.tolist()
