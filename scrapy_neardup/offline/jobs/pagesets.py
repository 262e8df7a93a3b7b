"""Pages read by several processes, and the sets of hashes that are compared of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any
from weakref import finalize

import numpy as np

from scrapy_neardup.fingerprints.hashing import PUBLIC
from scrapy_neardup.fingerprints.independent import minima, mod_sketch
from scrapy_neardup.fingerprints.shingles import (
    distinct,
    first_of_each,
    shingle_hashes,
)
from scrapy_neardup.fingerprints.units import Unit, unit_hashes
from scrapy_neardup.offline.execution import Workers
from scrapy_neardup.offline.files.sortedruns import Hashes, Integers
from scrapy_neardup.offline.jobs.scanning import in_parts, texts
from scrapy_neardup.offline.joins import TokenSets, hashed
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.files import FoundPage
from scrapy_neardup.settings.catalogue import View
from scrapy_neardup.tables.ranges import ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Shingles:
    """A function from a text to the shingles that are compared: of `size` units of its.

    With `labelled` the occurrences of a shingle are numbered (Broder 1997, option A). A sample of
    the shingles makes the similarity an estimate: those that `modulus` divides (V_m), or so many
    `minima`, each with its place, of which two texts have a share of resemblance in common.
    """

    size: int = 4
    unit: Unit = "word"
    labelled: bool = False
    modulus: int = 1
    minima: int | None = None

    def __call__(self, text: str) -> tuple[int, Hashes]:
        """Return the number of a text's units, and its distinct hashes, ascending."""
        units = unit_hashes(text, self.unit)
        found = shingle_hashes(units, self.size)
        found = _labelled(found) if self.labelled else distinct(found)
        if self.minima and len(found):
            places = np.arange(self.minima, dtype=np.uint64)
            found = np.sort(PUBLIC.mix(minima(found, self.minima) ^ places))
        elif self.modulus > 1:
            found = mod_sketch(found, self.modulus)
        return len(units), found


def _labelled(hashes: Hashes) -> Hashes:
    """Return a hash of each occurrence of a hash; that of the first one is the hash itself."""
    ordered = np.sort(hashes)
    places = np.arange(len(ordered))
    occurrence = places - np.maximum.accumulate(np.where(first_of_each(ordered), places, 0))
    others = PUBLIC.mix(ordered + occurrence.view(np.uint64))
    return np.sort(np.where(occurrence > 0, others, ordered))


class Pages:
    """The pages of a corpus, read by `work`; `view` and `ignore` are those of `texts`."""

    def __init__(self, corpus: Corpus, view: View, ignore: Sequence[str], work: Workers) -> None:
        self._corpus, self._how, self.work = corpus, (view, ignore), work
        self.names: list[str] = []
        self.tokens: list[int] = []

    def read(self, of: Callable[[str], tuple[int, Any]]) -> Iterator[Any]:
        """Yield the second of what `of` returns for each text; note names and the first."""
        for name, tokens, found in in_parts(
            self._corpus, self.work, partial, _read, of, *self._how
        ):
            self.names.append(name)
            self.tokens.append(tokens)
            yield found


def _read(
    of: Callable[[str], tuple[int, Any]],
    view: View,
    ignore: Sequence[str],
    records: Iterable[FoundPage],
) -> Iterator[tuple[str, int, Any]]:
    return ((record.name, *of(text)) for record, text in texts(records, view, ignore))


class HashSets:
    """Sets of distinct hashes, ascending, numbered from 0; on disk, 8 bytes a hash."""

    def __init__(self, sets: Iterable[Hashes]) -> None:
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115  (closed by `finalize`)
        finalize(self, self._file.close)
        sizes = []
        for each in sets:
            self._file.write(each.tobytes())
            sizes.append(len(each))
        self._file.flush()
        self.sizes = np.array(sizes, np.int64)
        """Number of hashes of every set."""
        self._starts = np.cumsum(self.sizes) - self.sizes

    def hashes(self, numbers: Integers) -> tuple[Hashes, Integers]:
        """Return the hashes of some sets, concatenated, and the sizes of these sets."""
        sizes = self.sizes[numbers]
        if not sizes.any():
            return np.empty(0, np.uint64), sizes
        data = np.memmap(self._file, np.uint64, "r")
        return data[ranges(self._starts[numbers], sizes)], sizes

    def token_sets(self, numbers: Integers) -> TokenSets:
        """Return some sets, encoded together."""
        return hashed(*self.hashes(numbers))
