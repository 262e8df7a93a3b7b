"""Judging pages by one signature of the literature, each against the kept ones before it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints import Weights, features, simhash_features
from scrapy_neardup.fingerprints.shingles import distinct, shingle_hashes
from scrapy_neardup.fingerprints.signatures import SIGNATURES, Hashes, WeightTable
from scrapy_neardup.fingerprints.units import Units, imported
from scrapy_neardup.fingerprints.weights import WeightFunction
from scrapy_neardup.offline.jobs.joining import join_sets
from scrapy_neardup.offline.jobs.pagesets import HashSets
from scrapy_neardup.offline.readers.files import lines
from scrapy_neardup.tables import HammingIndex

Named = tuple[str, Hashes]
"""A page's name, and the hashes of its units."""


def weights_from(path: str, units: Units, shingle_size: int) -> WeightFunction:
    """Return the function of an import path (``module:function``), or the weights of a file.

    A line of the file has a word, or the units of a shingle, then a tab and a weight.
    """
    if re.fullmatch(r"[\w.]+:[\w.]+", path) and not Path(path).exists():
        return imported("--idf", path)
    hashes, weights = [], []
    for number, line in lines(path):
        if line.isspace():
            continue
        term, _, weight = line.decode("utf-8", "replace").rpartition("\t")
        try:
            value = float(weight)
        except ValueError:
            value = -1.0
        if not term or not 0 <= value < float("inf"):
            raise InputError(f"{path}, line {number}: not WORD, a tab, and a weight from 0")
        for shingle in shingle_hashes(units.hashes(term), shingle_size)[:1]:
            hashes.append(shingle)
            weights.append(value)
    return WeightTable(np.array(hashes, np.uint64), np.array(weights, np.float64))


def signed(
    pages: Iterable[Named],
    name: str,
    shingle_size: int,
    weights: WeightFunction | None = None,
    *,
    threshold: float | None = None,
    modulus: int | None = None,
    memory: int = 1 << 30,
) -> Iterator[dict[str, Any]]:
    """Yield for each page its signature (a name in `SIGNATURES`) and the verdict by it.

    A page repeats the kept page before it that it resembles most. `weights` are idf; with None the
    idf of the pages, which are held in memory then, 8 bytes a word. `threshold` is the minimum
    resemblance, by default that of the signature. `modulus` is that of mod-p. Signatures are on
    disk until all are compared. A page without a signature is unjudged.
    """
    kind = SIGNATURES[name]
    known: dict[str, Any] = {} if modulus is None else {"modulus": modulus}
    sequences: Iterable[Named] = (
        (page, shingle_hashes(units, shingle_size)) for page, units in pages
    )
    if kind.needs_idf:
        if weights is None:
            held = list(sequences)
            weights, sequences = WeightTable.idf([distinct(each) for _, each in held]), held
        known["idf"] = weights
    firsts: dict[bytes, int] = {}
    names: list[str] = []
    copies: list[int] = []

    def signatures() -> Iterator[Hashes]:
        for page, shingles in sequences:
            signature = kind.of(shingles, **known)
            copies.append(firsts.setdefault(signature.tobytes(), len(names)))
            yield signature if copies[-1] == len(names) else signature[:0]
            names.append(page)

    sets = HashSets(signatures())
    pairs = join_sets(sets, kind.threshold if threshold is None else threshold, memory=memory)
    near: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    for i, j, value in zip(pairs.i.tolist(), pairs.j.tolist(), pairs.values.tolist(), strict=True):
        near[i].append((value, -j))
        near[j].append((value, -i))
    kept: set[int] = set()
    for number, (page, copy) in enumerate(zip(names, copies, strict=True)):
        signature, _ = sets.hashes(np.array([copy]))
        others = [(1.0, -copy), *near[copy]] if len(signature) else []
        resemblance, of = max((each for each in others if -each[1] in kept), default=(None, None))
        if of is None:
            kept.add(number)
        yield {
            "page": page,
            "verdict": "unjudged" if not len(signature) else "new" if of is None else "duplicate",
            "of": None if of is None else names[-of],
            "resemblance": resemblance,
            "signature": [f"{each:016x}" for each in signature.tolist()],
        }


def simhashed(
    pages: Iterable[Named], weights: Weights, shingle_size: int, max_distance: int
) -> Iterator[dict[str, Any]]:
    """Yield for each page its simhash and the verdict by it; see `signed`."""
    index = HammingIndex(max_distance)
    names: dict[int, str] = {}
    for page, units in pages:
        hashes, found = features(units, shingle_size=shingle_size, weights=weights)
        fingerprint = None
        if len(hashes) and (found is None or found.any()):
            fingerprint = simhash_features(hashes, found)
        near = index.query(fingerprint)[:1] if fingerprint is not None else []
        if fingerprint is not None and not near:
            index.add(fingerprint)
            names[fingerprint] = page
        yield {
            "page": page,
            "verdict": "unjudged" if fingerprint is None else "duplicate" if near else "new",
            "of": names[near[0][0]] if near else None,
            "distance": near[0][1] if near else None,
            "fingerprint": None if fingerprint is None else f"{fingerprint:016x}",
        }
