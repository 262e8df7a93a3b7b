"""Token hashes: quality, keys, stability; digests."""

import re
from functools import cache
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import digest, token_hashes
from scrapy_neardup.fingerprints.hashing import _MARK, token_hashes_of_each


@cache
def vocabulary():
    cyrillic = range(0x430, 0x450)
    return sorted(
        {
            *re.findall(r"[a-z0-9]+", " ".join(topics.values()).lower()),
            *map(str, range(200_000)),
            *(f"{stem}{n}" for stem in ("item", "page", "product") for n in range(20_000)),
            *("x" * n for n in range(1, 300)),
            *("x" * n + "y" for n in range(300)),
            *(chr(code) + chr(other) for code in cyrillic for other in cyrillic),
        }
    )


def one(token, key=None):
    (value,) = token_hashes(token, key=key).tolist()
    return value


@pytest.mark.parametrize("key", [None, b"a secret"])
def test_vocabulary_has_no_collisions(key):
    hashes = token_hashes(" ".join(vocabulary()), key=key)
    assert len(hashes) == len(vocabulary()) > 260_000
    assert len(np.unique(hashes)) == len(hashes)
    # Nor do halves of the hash collide more often than 32 random bits do (about 8 pairs).
    for half in (hashes & 0xFFFFFFFF, hashes >> 32):
        assert len(hashes) - len(np.unique(half)) < 30


@pytest.mark.parametrize("key", [None, b"a secret"])
@pytest.mark.parametrize("length", [2, 3, 8, 9, 16, 40, 64, 65, 200])
def test_avalanche(length, key):
    """Every character of a token moves every bit of its hash in about half of the cases."""
    rng = np.random.default_rng(length)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", np.uint8)
    tokens = letters[rng.integers(0, 36, (2_000, length))]
    changed = tokens.copy()
    rows, places = np.arange(len(tokens)), rng.integers(0, length, len(tokens))
    step = rng.integers(1, 36, len(tokens))
    changed[rows, places] = letters[(np.searchsorted(letters, 0) + step) % 36]
    differ = (tokens != changed).any(axis=1)

    def hashes(rows):
        return token_hashes(b"\n".join(row.tobytes() for row in rows).decode(), key=key)

    flips = (hashes(tokens) ^ hashes(changed))[differ]
    bits = np.unpackbits(flips.view(np.uint8)).reshape(-1, 64)
    # With 1,900 cases the share has a standard deviation of .0115: five of them.
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.0575
    assert abs(bits.mean() - 0.5) < 0.01


def test_chunks_do_not_show():
    words = [f"word{n * n % 977}" + "é" * (n % 3 == 0) for n in range(60_000)]
    expected = {word: one(word) for word in set(words)}
    for text in (" ".join(words), "\n".join(words)):
        assert token_hashes(text).tolist() == [expected[word] for word in words]


def test_no_tokens():
    for text in ("", " ", "...\n—", "\u200b"):
        hashes = token_hashes(text)
        assert hashes.dtype == np.uint64
        assert hashes.shape == (0,)


def test_key():
    text = " ".join(vocabulary()[::100])
    plain, one_key, other_key = (token_hashes(text, key=key) for key in (None, b"a", b"b"))
    assert not (plain == one_key).any()
    assert not (one_key == other_key).any()
    assert (token_hashes(text, key=b"a") == one_key).all()
    assert one("q" * 99) != one("q" * 99, b"a") != one("q" * 99, b"b")
    long = b"k" * 1000  # longer than BLAKE2b's own keys
    assert one("token", long) != one("token", long[:-1]) != one("token", long[:64])
    assert one("token", b"") != one("token")  # an empty secret is one all the same


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_digest_keeps_parts_apart(a, b):
    assert (digest(*a) == digest(*b)) == (a == b)


def test_digest():
    assert digest("é") == digest("é".encode())
    assert digest("a", key=b"k") not in (digest("a"), digest("a", key=b"l"))
    assert digest("\ud800") != digest("\ud801")
    assert 0 < digest("a", bits=32) < 2**32 <= digest("a", bits=128)
    # Of 2,000 eight-bit digests some are 0 before they become 1.
    assert {digest(str(n), bits=8) for n in range(2_000)} == set(range(1, 256))


@pytest.mark.stress
def test_vocabulary_of_millions():
    """Of the 5e13 pairs of ten million tokens, 2.7e-6 collide by chance."""
    hashes = token_hashes(" ".join(f"{n:x}z{n * 7919:x}" for n in range(10_000_000)))
    assert len(np.unique(hashes)) == len(hashes)


@given(st.lists(st.one_of(st.text(max_size=20), st.just(f"a {_MARK}\u0301 {_MARK.upper()}"))))
def test_tokens_are_counted_text_by_text(texts):
    tokens, counts = token_hashes_of_each(texts)
    assert counts.tolist() == [len(token_hashes(text)) for text in texts]
    assert tokens.tolist() == [each for text in texts for each in token_hashes(text).tolist()]
    assert tokens.tolist() == token_hashes("\n".join(texts)).tolist()
