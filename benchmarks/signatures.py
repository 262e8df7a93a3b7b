"""What the signatures of the literature find and lose alone (Manku et al. 2007, section 5.4).

Each page of a site is compared with the kept pages before it by one signature and no other
evidence: sets of hashes by their resemblance, simhashes by their distance.

    python benchmarks/signatures.py --truth DIR --stop-words english.txt SITE...
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import numpy as np
from harness import arguments
from sites import SITE_OPTIONS, Score, Site, load, named, no_site

from scrapy_neardup.fingerprints import features, simhash_features, token_hashes
from scrapy_neardup.fingerprints.hashing import PUBLIC, digest
from scrapy_neardup.fingerprints.independent import mod_sketch
from scrapy_neardup.fingerprints.shingles import distinct, shingle_hashes
from scrapy_neardup.fingerprints.units import unit_hashes
from scrapy_neardup.fingerprints.weights import WeightFunction
from scrapy_neardup.offline.joins import self_join
from scrapy_neardup.tables import HammingIndex
from scrapy_neardup.text import normalize

Hashes = np.ndarray
WINDOW, BUCKETS, LEXICONS = 8, 16, 11


def mod_p(shingles: Hashes, modulus: int = 25) -> Hashes:
    """One shingle in 25 (Broder et al. 1997)."""
    return mod_sketch(distinct(shingles), modulus)


def winnow(shingles: Hashes) -> Hashes:
    """The least of every eight consecutive shingles (Schleimer, Wilkerson & Aiken 2003)."""
    if not len(shingles):
        return shingles
    windows = np.lib.stride_tricks.sliding_window_view(shingles, min(WINDOW, len(shingles)))
    return distinct(windows.min(axis=1))


def buckets(words: Hashes) -> Hashes:
    """A checksum of each of 16 lists into which the words are dealt (Pugh & Henzinger 2003)."""
    lists = words % np.uint64(BUCKETS)
    sums = (digest(str(each), words[lists == each].tobytes()) for each in np.unique(lists))
    return np.array(sorted(sums), np.uint64)


def idf_of(documents: list[Hashes]) -> WeightFunction:
    """log(N / df) / log(N) of each shingle of N sets; a shingle of no document has 1."""
    known, df = np.unique(np.concatenate(documents), return_counts=True)
    weights = np.log(len(documents) / df) / np.log(max(len(documents), 2))

    def idf(hashes: Hashes, _: Hashes) -> np.ndarray:
        places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        return np.where(known[places] == hashes, weights[places], 1.0)

    return idf


def i_match(words: Hashes, idf: WeightFunction, lexicons: int = 1) -> Hashes:
    """Digests of the words whose idf is from .2 to .8 (Chowdhury et al. 2002), and of those that
    random 70 % of them have, one for each further lexicon (Kołcz et al. 2004)."""
    found = distinct(words)
    weights = idf(found, np.ones(len(found), np.int64))
    found = found[(weights >= 0.2) & (weights <= 0.8)]
    draws = (PUBLIC.mix(found + np.uint64(each) * PUBLIC.seed) for each in range(lexicons))
    parts = [found[draw < 0.7 * 2.0**64] if each else found for each, draw in enumerate(draws)]
    sums = {digest(str(each), part.tobytes()) for each, part in enumerate(parts) if len(part)}
    return np.array(sorted(sums), np.uint64)


def kept_words(text: str, stops: frozenset[bytes]) -> Hashes:
    kept = (word for word in normalize(text).split() if word not in stops)
    return token_hashes(b" ".join(kept).decode())


def phrases(text: str, stops: frozenset[bytes]) -> Hashes:
    """The words of a line between stop words (Rose et al. 2010)."""
    lines = (normalize(line).split() for line in text.splitlines())
    runs = ([*run] for line in lines for is_stop, run in groupby(line, stops.__contains__)
            if not is_stop)  # fmt: skip
    return np.array([digest(b" ".join(run)) for run in runs], np.uint64)


def stems(text: str) -> Hashes:
    from snowballstemmer import stemmer

    stem = lru_cache(1 << 16)(stemmer("english").stemWord)
    return token_hashes(" ".join(map(stem, normalize(text).decode().split())))


@dataclass(frozen=True)
class Signature:
    """A row of the table; `of` makes the set of a page's shingles, None: their simhash."""

    of: Callable[..., Hashes] | None
    size: int
    least: float = 0.9
    units: Callable[[str], Hashes] = token_hashes
    weights: str = "set"
    needs_idf: bool = False


def table(stop_words: list[str]) -> Iterator[tuple[str, Signature]]:
    yield "mod-p, one shingle in 4", Signature(partial(mod_p, modulus=4), 4)
    yield "winnowing", Signature(winnow, 4)
    sentences = partial(unit_hashes, unit="sentence")
    yield "COPS: sentences", Signature(partial(mod_p, modulus=1), 1, 0.8, sentences)
    yield "I-Match", Signature(i_match, 1, 1.0, needs_idf=True)
    several = partial(i_match, lexicons=LEXICONS)
    yield "I-Match, one of 11 lexicons", Signature(several, 1, 1 / 21, needs_idf=True)
    yield "checksums, 12 of 16 lists", Signature(buckets, 1, 12 / 20)
    yield "simhash of words", Signature(None, 1, weights="tf")
    if stop_words:
        stops = frozenset(normalize(" ".join(stop_words)).split())
        own, runs = (partial(each, stops=stops) for each in (kept_words, phrases))
        yield "the same without stop words", Signature(None, 1, units=own, weights="tf")
        yield "simhash of phrases", Signature(None, 1, units=runs, weights="tf")
    yield "simhash of 3-shingles", Signature(None, 3)
    if find_spec("snowballstemmer"):
        yield "the same, stemmed", Signature(None, 3, units=stems)


def judged(site: Site, signature: Signature) -> Score:
    units = [signature.units(content.text) for content in site.contents]
    dropped = simhashed(units, signature) if signature.of is None else compared(units, signature)
    return site.judge([*range(len(units))], dropped)


def compared(units: list[Hashes], signature: Signature) -> set[int]:
    """The pages whose set resembles that of a kept page before it."""
    assert signature.of is not None
    shingles = [shingle_hashes(each, signature.size) for each in units]
    idf = [idf_of([*map(distinct, shingles)])] if signature.needs_idf else []
    sets = [signature.of(each, *idf) for each in shingles]
    pairs = self_join(sets, signature.least)
    near: defaultdict[int, list[int]] = defaultdict(list)
    for a, b in zip(pairs.i.tolist(), pairs.j.tolist(), strict=True):
        near[max(a, b)].append(min(a, b))
    dropped: set[int] = set()
    for page in sorted(near):
        if not dropped.issuperset(near[page]):
            dropped.add(page)
    return dropped


def simhashed(units: list[Hashes], signature: Signature) -> set[int]:
    index, dropped = HammingIndex(3), set()
    for page, each in enumerate(units):
        if len(each):
            found = features(each, shingle_size=signature.size, weights=signature.weights)
            fingerprint = simhash_features(*found)
            if index.query(fingerprint):
                dropped.add(page)
            else:
                index.add(fingerprint)
    return dropped


def main() -> None:
    options = arguments(
        __doc__, "site", check=no_site, **SITE_OPTIONS,
        stop_words=(Path, "file of words to leave out, for three of the rows"), quick={},
    )  # fmt: skip
    words = options.stop_words.read_text().split() if options.stop_words else ["word1", "word2"]
    with named(options) as sources:
        print(f"{'signature':30} {'precision':>9} {'recall':>7} {'lost':>6}")
        for label, signature in table(words):
            score = sum((judged(load(source), signature) for source in sources), Score())
            print(f"{label:30} {score.precision:9.3f} {score.recall:7.3f} {score.lost:6}")


if __name__ == "__main__":
    main()
