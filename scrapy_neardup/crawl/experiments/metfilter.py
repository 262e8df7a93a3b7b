"""The URLs that a crawl has met: a Bloom filter (Bloom, CACM 13(7), 1970) of two megabytes."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

_BITS: Final = 1 << 24
_HASHES: Final = 4
"""Bits of a URL: among a million URLs .2 % of new ones look met, among four millions 16 %."""


class MetFilter:
    """A set of URLs that never forgets one, and may take a new one for a member."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, url: str) -> None:
        """Add a URL."""
        for at in _places(url):
            self._bits[at >> 3] |= 1 << (at & 7)

    def is_new(self, url: str) -> bool:
        """Whether a URL was never added. O(length)."""
        return any(not self._bits[at >> 3] >> (at & 7) & 1 for at in _places(url))


def _places(url: str) -> list[int]:
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=4 * _HASHES).digest()
    return [
        int.from_bytes(digest[at : at + 4], "little") % _BITS for at in range(0, len(digest), 4)
    ]
