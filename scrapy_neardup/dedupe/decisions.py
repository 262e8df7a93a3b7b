"""The decision about each document: two numbers, in memory and then in files.

In memory they take 6 bytes a document (10 from 4 billion documents on).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.dedupe.deciding import Removed
from scrapy_neardup.offline.files.atomic import written
from scrapy_neardup.offline.readers.record import reading
from scrapy_neardup.offline.readers.remote import exists, opened

Integers = NDArray[np.int64]

EQUAL = (1 << 16) - 1
"""Share of a document whose text is that of the one that is kept for it."""
KNOWN = EQUAL - 1
"""Share of a document that repeats a page of a store; no document is kept for it."""
MOST = EQUAL - 2
"""Share of resemblance 1."""
_STEP = 1 << 16
"""Number of documents that are settled at once."""
_KEPT, _SHARES = "decisions.kept", "decisions.shares"


def number_type(documents: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type that holds the numbers of so many documents."""
    return np.dtype("<u4" if documents < 1 << 32 else "<u8")


class Decisions:
    """For each document the one that is kept for it, at first itself."""

    def __init__(self, documents: int) -> None:
        self.kept = np.arange(documents, dtype=number_type(documents))
        self._shares = np.full(documents, MOST, "<u2")

    def known(self, documents: Integers) -> None:
        """Note documents that repeat pages of a store."""
        self._shares[documents] = KNOWN

    def are_known(self, documents: Integers) -> NDArray[np.bool_]:
        """Return which of the documents repeat pages of a store."""
        found: NDArray[np.bool_] = self._shares[documents] == KNOWN
        return found

    def equal(self, documents: Integers, kept: Integers) -> None:
        """Note documents whose texts are those of others, which may be removed themselves."""
        self.kept[documents] = kept
        self._shares[documents] = EQUAL

    def removed(self, found: Removed) -> None:
        """Note documents that are removed for others, which are kept."""
        self.kept[found.documents] = found.kept
        self._shares[found.documents] = np.rint(found.resemblances * MOST)

    def settle(self) -> None:
        """Replace the equal of a document, if that was removed, by the one that is kept for it."""
        for start in range(0, len(self.kept), _STEP):
            kept = self.kept[start : start + _STEP]
            through = self.kept[kept]
            moved = through != kept
            self._shares[start : start + _STEP][moved] = self._shares[kept[moved]]
            kept[:] = through

    def write(self, folder: str) -> None:
        """Write them; the file that shows that they are complete comes last."""
        with written(f"{folder}/{_SHARES}") as file:
            file.write(self._shares.data)
        with written(f"{folder}/{_KEPT}") as file:
            file.write(self.kept.data)


def are_written(folder: str) -> bool:
    """Whether all decisions are written."""
    return exists(f"{folder}/{_KEPT}")


def counted(documents: Integers, kept: Integers, shares: NDArray[np.uint16]) -> dict[str, int]:
    """Return the numbers of documents by what is decided: ``kept``, or why they are removed."""
    reasons = shares[are_removed(documents, kept, shares)]
    equal, known = (int(np.count_nonzero(reasons == share)) for share in (EQUAL, KNOWN))
    return {
        "kept": len(documents) - len(reasons),
        "equal": equal,
        "similar": len(reasons) - equal - known,
        "known": known,
    }


def are_removed(
    documents: Integers, kept: Integers, shares: NDArray[np.uint16]
) -> NDArray[np.bool_]:
    """Return which of the documents are removed, for others or for pages of a store."""
    return np.not_equal(kept, documents) | np.equal(shares, KNOWN)


def read_decisions(
    folder: str, documents: int, start: int, stop: int
) -> tuple[Integers, NDArray[np.uint16]]:
    """Return the documents kept for those from `start` to `stop`, and their shares."""
    parts = []
    for name, kind in ((_KEPT, number_type(documents)), (_SHARES, np.dtype("<u2"))):
        path = f"{folder}/{name}"
        with reading(path), opened(path) as file:
            file.seek(start * kind.itemsize)
            parts.append(np.frombuffer(file.read((stop - start) * kind.itemsize), kind))
    return parts[0].astype(np.int64), parts[1]
