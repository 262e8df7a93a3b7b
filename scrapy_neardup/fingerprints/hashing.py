"""From tokens to 64-bit hashes: fast, stable, and optionally keyed.

Hashes are written into stores and files, so a change of any value needs a new `HASH_VERSION`.

The hash of a token of at most 64 bytes UTF-8, read as little-endian 64-bit words
w0, w1, ... padded with zero bytes (a token holds none, so no two pad to the same)::

    h = seed;  for w in words:  h = mix(h ^ w)

    mix(h) = h ^= h >> 30;  h *= m1;  h ^= h >> 27;  h *= m2;  h ^= h >> 31   (mod 2**64)

`mix` is the finaliser of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014; constants of
Stafford's variant 13), a bijection in which every input bit moves every output bit with
a probability near one half; so two tokens of up to eight bytes never collide. The hash
of a token of more than 64 bytes is its 64-bit BLAKE2b.

A key chooses seed, m1 and m2, and keys BLAKE2b. `PUBLIC_KEY` stands for the published values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup._speed import faster_type
from scrapy_neardup.text import normalized_chunks
from scrapy_neardup.text.tokens import (
    CHARACTERS,
    EVERY_CHARACTER,
    classify,
    classify_every,
    composed,
)

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

HASH_VERSION = "ndx10-64"
"""Name, version and width of everything that makes two fingerprints comparable: the tokens
(`scrapy_neardup.text.normalize`), their hash, the hash of a shingle, the rule for ties; and the
features and sketches that `minwise` and `broder` make of shingles."""

PUBLIC_KEY = b"public"
"""The published key, with which fingerprints made anywhere can be compared."""

_WORD = 8
_LONGEST = 64
"""Maximum bytes of a token that is hashed word by word."""

_LENGTH = struct.Struct("<Q")

_MASKS = np.array([(1 << (8 * length)) - 1 for length in range(_WORD + 1)], np.uint64)
_SPACE = 32

_MARK = "qzqxqvqz"
"""A rare word that separates texts whose tokens are counted separately."""
_NOTHING = np.empty(0, np.uint64)


def constant(value: int) -> NDArray[np.uint64]:
    """Return `value` as a numpy scalar, because an int would be converted at each use."""
    return np.array(value, np.uint64)


_30, _27, _31 = map(constant, (30, 27, 31))


class Mixer:
    """The constants of the token hash with one key."""

    def __init__(self, seed: int, m1: int, m2: int) -> None:
        self.seed, self._m1, self._m2 = map(constant, (seed, m1, m2))

    def mix(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Mix in place; returns `values`."""
        values ^= values >> _30
        values *= self._m1
        values ^= values >> _27
        values *= self._m2
        values ^= values >> _31
        return values


_PUBLIC_NUMBERS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
PUBLIC = Mixer(*_PUBLIC_NUMBERS)


def token_hashes(text: str, *, key: bytes | None = None) -> NDArray[np.uint64]:
    """Return a hash for each token, in the order of the text: uint64 of shape (tokens,).

    They are the same on every machine and with every version of numpy.
    `scrapy_neardup.text.normalize` defines tokens. O(n), some 30 ns a token. Apart from the
    result, memory is bounded for any length of the text.

    `key` is a secret of any length; None stands for `PUBLIC_KEY`. Without the key nobody can
    compute which bits a text sets nor, as far as we know, find two texts that agree under
    every key. The hash is not cryptographic: a reader of many fingerprints may
    compute the key from them, and nothing stops a page from repeating another page's words.
    """
    return _keyed(key).tokens(text)


def token_hashes_of_each(
    texts: Sequence[str], *, key: bytes | None = None, every: bool = False
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the token hashes of several texts, and their number (int64) for each; O(n).

    With `every`, each visible character counts; see `scrapy_neardup.text.tokens`.
    """
    return _keyed(key, every=every).tokens_of_each(texts)


def digest(*parts: str | bytes, key: bytes | None = None, bits: int = 64) -> int:
    """Return a BLAKE2b digest of `parts` with `bits` bits (a multiple of 8 up to 512); never 0.

    Each part is hashed with its length, so ``("a", "bc")`` and ``("ab", "c")`` differ. A
    string is encoded in UTF-8. A digest of 0 becomes 1, so that 0 can stand for "none".
    `key` is as in `token_hashes`.
    """
    state = empty_digest(key, bits).copy()
    data = [
        part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts
    ]
    lengths = map(_LENGTH.pack, map(len, data))
    state.update(b"".join(chain.from_iterable(zip(lengths, data, strict=True))))
    return int.from_bytes(state.digest(), "little") or 1


def key_digest(key: bytes | None) -> str:
    """Return the digest of a key for files and stores to record; empty for the public key."""
    return "" if key in (None, PUBLIC_KEY) else blake2b(key or b"", digest_size=8).hexdigest()


@lru_cache(maxsize=8)
def salt(key: bytes | None) -> str:
    """Return a prefix that makes hashes of texts depend on the key; empty for the public key."""
    return "" if key in (None, PUBLIC_KEY) else f"{digest('salt', key=key, bits=128):032x}"


@lru_cache(maxsize=16)
def empty_digest(key: bytes | None, bits: int) -> blake2b:
    """Return the digest of no parts."""
    return blake2b(digest_size=bits // 8, key=_blake_key(key), person=b"neardup-digest")


class Hasher:
    """The token hash with one key; its compiled twin is in ``_speed/tokens.pyx``.

    `digest_long` is the hash of a token of more than `_LONGEST` bytes; `every` says whether each
    visible character counts; the rest is for the twin.
    """

    def __init__(
        self,
        seed: int,
        m1: int,
        m2: int,
        digest_long: Callable[[bytes], int],
        *_tables: object,
        every: bool = False,
    ) -> None:
        self._mixer, self._digest_long, self._every = Mixer(seed, m1, m2), digest_long, every

    def tokens(self, text: str) -> NDArray[np.uint64]:
        """See `token_hashes`."""
        parts = [self._hash(chunk) for chunk in normalized_chunks(text, every=self._every)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def tokens_of_each(self, texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """See `token_hashes_of_each`."""
        (mark,) = self.tokens(_MARK)
        tokens = self.tokens(f" {_MARK} ".join(texts))
        marks = (tokens == mark).nonzero()[0]
        if len(marks) == len(texts) - 1:
            counts = np.diff(marks, prepend=-1, append=len(tokens)) - 1
            return np.delete(tokens, marks), counts
        parts = [_NOTHING, *map(self.tokens, texts)]  # there is no text, or one holds the mark
        return np.concatenate(parts), np.array([*map(len, parts[1:])], np.int64)

    def _hash(self, chunk: bytes) -> NDArray[np.uint64]:
        # One space before, and enough after it: every token has two ends, and eight bytes can be
        # read from the start of each.
        padded = b"".join((b" ", chunk, b" " * (_WORD + 1)))
        inside = np.frombuffer(padded, np.uint8) != _SPACE
        ends = (inside[1:] != inside[:-1]).nonzero()[0]
        ends += 1
        starts, ends = ends[0::2], ends[1::2]
        rest = ends - starts
        # The eight bytes from every position, without copying them.
        words = np.ndarray((len(padded) - _WORD + 1,), "<u8", buffer=padded, strides=(1,))

        hashes: NDArray[np.uint64] = words.take(starts).astype(np.uint64, copy=False)
        hashes &= _MASKS.take(rest, mode="clip")
        hashes ^= self._mixer.seed
        self._mixer.mix(hashes)
        longer = (rest > _WORD).nonzero()[0]
        places, rest = starts.take(longer), rest.take(longer)
        for _ in range(_WORD, _LONGEST, _WORD):
            if not longer.size:
                return hashes
            places += _WORD
            rest -= _WORD
            word = words.take(places).astype(np.uint64, copy=False)
            word &= _MASKS.take(rest, mode="clip")
            word ^= hashes.take(longer)
            hashes[longer] = self._mixer.mix(word)
            more = (rest > _WORD).nonzero()[0]
            longer, places, rest = longer.take(more), places.take(more), rest.take(more)
        for token in longer.tolist():
            hashes[token] = self._digest_long(padded[starts[token] : ends[token]])
        return hashes


def _example(hasher: type[Hasher]) -> object:
    texts = f"One, 2 {'three' * 4} {'four' * 20}", "", "five-6 C++ = -7% - x\u2605"
    return [
        hasher(*_PUBLIC_NUMBERS, len, *_TABLES[every], every=every).tokens_of_each(texts)
        for every in (False, True)
    ]


_TABLES = {
    False: (CHARACTERS, classify, composed),
    True: (EVERY_CHARACTER, classify_every, composed),
}
"""Whether every character counts -> the treatment of characters."""
_FastHasher = faster_type(Hasher, "tokens", _example)


@lru_cache(maxsize=8)
def _keyed(key: bytes | None, *, every: bool = False) -> Hasher:
    """Return the token hash of a key."""
    template = blake2b(digest_size=_WORD, key=_blake_key(key), person=b"neardup-token")

    def digest_long(token: bytes) -> int:
        state = template.copy()
        state.update(token)
        return int.from_bytes(state.digest(), "little")

    numbers = _PUBLIC_NUMBERS
    if key not in (None, PUBLIC_KEY):
        person = b"neardup-mixer"
        secret = blake2b(digest_size=3 * _WORD, key=_blake_key(key), person=person).digest()
        seed, m1, m2 = struct.unpack("<3Q", secret)
        numbers = seed, m1 | 1, m2 | 1
    return _FastHasher(*numbers, digest_long, *_TABLES[every], every=every)


def _blake_key(key: bytes | None) -> bytes:
    """Fit a key of any length into the 64 bytes that BLAKE2b takes."""
    if key is None or key == PUBLIC_KEY:
        return b""
    return blake2b(key, person=b"neardup-key").digest()
