"""The documents of a collection that resemble a text most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprints.batch import byte_sketches, estimated, shingles_of_each
from scrapy_neardup.fingerprints.hashing import token_hashes_of_each
from scrapy_neardup.offline.readers.record import batches
from scrapy_neardup.settings.arguments import whole_number
from scrapy_neardup.settings.catalogue import OPTIONS

BINS = 256
"""Bins of a sketch, a byte each."""
LEAST = 0.1
"""Default minimum resemblance: sketches of unrelated documents agree in some bins by chance."""
_BATCH = 256
"""Number of documents that are sketched at once."""


class Neighbour(NamedTuple):
    """A document of the collection, and how much a text resembles it, from 0 to 1."""

    name: str
    resemblance: float


class Index:
    """Sketches of documents, given by name and text, and queries for those that resemble a text.

    Holds 256 bytes and the name of each document. A query compares with all of them, so that none
    is missed: O(n). The standard error of a resemblance is .019 at .9.

    >>> index = Index([("a", "one two three four five"), ("b", "six seven eight nine")])
    >>> index.query("one two three four five", top=1)
    [Neighbour(name='a', resemblance=1.0)]
    """

    def __init__(
        self,
        documents: Iterable[tuple[str, str]],
        *,
        shingle_size: int = OPTIONS["shingle_size"].default,
    ) -> None:
        self._size = whole_number("the shingle size", shingle_size, least=1)
        self._names: list[str] = []
        parts = [np.empty((0, BINS), np.uint8)]
        for batch in batches(documents, _BATCH):
            names, texts = zip(*batch, strict=True)
            sketches, has_words = self._sketched(texts)
            self._names += [name for name, has in zip(names, has_words, strict=True) if has]
            parts.append(sketches[has_words])
        self._sketches = np.concatenate(parts)

    def __len__(self) -> int:
        return len(self._names)

    def query(
        self, text: str, *, top: int = 10, min_resemblance: float = LEAST
    ) -> list[Neighbour]:
        """Return up to `top` documents that a text resembles most, the nearest and earliest first.

        `min_resemblance` is that of each, from 0 to 1. A text without words resembles none.
        """
        top = whole_number("the number of neighbours", top, least=1)
        (sketch,), (has_words,) = self._sketched([text])
        if not has_words:
            return []
        shares = estimated(sketch, self._sketches)
        order = np.argsort(-shares, kind="stable")[:top].tolist()
        found = [Neighbour(self._names[each], float(shares[each])) for each in order]
        return [each for each in found if each.resemblance >= min_resemblance]

    def _sketched(self, texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return sketches, and which of the texts have words."""
        tokens, counts = token_hashes_of_each(texts)
        hashes, numbers = shingles_of_each(tokens, counts, self._size)
        return byte_sketches(hashes, numbers, BINS), counts > 0
