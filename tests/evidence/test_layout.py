"""The bytes that a store keeps of a page: what is packed is what is read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.layout import (
    HEAD,
    MAX_TITLE_WORDS,
    MAX_TRACKED,
    OWNER_BITS,
    Head,
    Planes,
    hash_words,
    pack_planes,
    stored_size,
)
from scrapy_neardup.fingerprints.hashing import PUBLIC

WORD = st.integers(1, 2**16 - 1)
HEADS = st.builds(
    Head,
    steps=st.integers(0, 2**32 - 1),
    path=st.integers(0, 2**16 - 1),
    query=st.integers(0, 2**16 - 1),
    title=st.frozensets(WORD, max_size=MAX_TITLE_WORDS),
    places=st.lists(WORD, min_size=MAX_TRACKED, max_size=MAX_TRACKED).map(tuple),
    name=st.integers(0, 2**16 - 1),
    text=st.integers(0, 2**16 - 1),
    rows=st.tuples(*[st.integers(0, 2**16 - 1)] * (1 + MAX_TRACKED)),
)


@given(HEADS)
def test_a_head_is_read_as_it_was_packed(head):
    assert Head.unpack(head.pack()) == head
    assert len(head.pack()) == HEAD.size


@given(HEADS, st.binary(max_size=64))
def test_planes_after_it_do_not_matter(head, planes):
    assert Head.unpack(head.pack() + planes) == head


@given(st.lists(WORD, max_size=MAX_TRACKED - 1))
def test_places_that_are_missing_are_0(places):
    read = Head.unpack(Head(places=tuple(places)).pack()).places
    assert read == (*places, *[0] * (MAX_TRACKED - len(places)))


@given(HEADS, st.sets(WORD, max_size=2))
def test_the_rows_of_some_places_are_left_out(head, others):
    left_out = {*head.places[:2], *others}
    sums = zip(head.rows[1:], head.places, strict=True)
    kept = [head.rows[0], *(sum_ for sum_, place in sums if place not in left_out)]
    assert head.rows_without(left_out) == sum(kept) % 2**16


@given(st.integers(0, 2**32), st.sampled_from([16, 128, 512, 1024]), st.sampled_from([1, 2, 4, 8]))
def test_planes_are_read_as_they_were_packed(seed, bins, bits):
    random = np.random.default_rng(seed)
    minima = random.integers(0, 2**64, bins, np.uint64)
    owners = random.integers(0, 2**OWNER_BITS, bins).astype(np.uint8)
    packed = Head().pack() + pack_planes(minima, owners, bits)
    assert len(packed) == stored_size(bins, bits)
    planes = Planes.unpack(packed, bins, bits)
    values = PUBLIC.mix(minima.copy()) % np.uint64(2**bits)
    for place in range(bins):
        assert sum((plane >> place & 1) << bit for bit, plane in enumerate(planes.values)) == int(
            values[place]
        )
    full, together = (1 << bins) - 1, 0
    for owner in range(2**OWNER_BITS):
        found = planes.owned_by(owner, full)
        assert [found >> place & 1 for place in range(bins)] == (owners == owner).tolist()
        assert not found & together
        together |= found
    assert together == full


def test_minima_stay_as_they_are():
    minima = np.arange(16, dtype=np.uint64)
    pack_planes(minima, np.zeros(16, np.uint8), 2)
    assert minima.tolist() == list(range(16))


HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=30)


@given(HASHES, st.randoms())
def test_words_of_a_title_are_few_and_not_0(words, chance):
    found = hash_words(words)
    assert len(found) <= min(len(set(words)), MAX_TITLE_WORDS)
    assert all(1 <= word < 2**16 for word in found)
    assert hash_words([*words, *words]) == found
    if len(set(words)) <= MAX_TITLE_WORDS:
        chance.shuffle(words)
        assert hash_words(words) == found


@pytest.mark.parametrize("count", [MAX_TITLE_WORDS, MAX_TITLE_WORDS + 1, 40])
def test_every_word_of_a_title_counts(count):
    words = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(1, count + 1)]
    assert hash_words(words) != hash_words([*words[:-1], 12345 << 40])
    assert len(hash_words(words)) == MAX_TITLE_WORDS
