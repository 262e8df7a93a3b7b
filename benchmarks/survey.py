"""Other signatures of the literature on the pages of `quality.py`, by the same truth.

Pages come in the order of the truth and are compared with the kept ones. A page is dropped
where a kept page's signature agrees: mod-p sketches, winnowing fingerprints and sentences from
an estimated resemblance of .9, I-Match on an equal signature, by one lexicon or any of 11,
word-bucket checksums from 12 of 16. Simhash has several kinds of features, and agrees within 3
bits. The last row is the plugin as it is.

    python benchmarks/survey.py --truth DIR SITE_FOLDER...
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import numpy as np
from named_sites import add_site_options, named
from other_signatures import (
    bucket_checksums,
    i_match,
    i_match_many,
    modulus_for,
    sentences,
    winnow,
    without_common,
)
from sites import Score, Site, load
from trials import STOP_WORDS, Reader, crawl, preset

from scrapy_neardup.fingerprints import features, simhash_features, token_hashes
from scrapy_neardup.fingerprints.phrases import find_phrases, joined, without
from scrapy_neardup.fingerprints.resemblance import mod_sketch
from scrapy_neardup.tables import HammingIndex

RESEMBLANCE = 0.9
COMMON = 0.1
"""A shingle is common that more than such a share of the site's pages have."""
DISTANCE = 3
BUCKETS, AGREE = 16, 12

Signature = tuple[int, np.ndarray]
"""Modulus (1 where there is none), sorted values."""


def sketches(site: Site) -> list[Signature]:
    made = []
    for content in site.contents:
        shingles, _ = features(token_hashes(content.text), shingle_size=4)
        modulus = modulus_for(len(shingles))
        made.append((modulus, mod_sketch(shingles, modulus)))
    return made


def winnowed(site: Site) -> list[Signature]:
    made = []
    for content in site.contents:
        tokens = token_hashes(content.text)
        k = min(4, max(1, len(tokens)))
        grams = np.zeros(len(tokens) - k + 1 if len(tokens) else 0, np.uint64)
        for offset in range(k if len(tokens) else 0):
            grams = grams * np.uint64(0x9E3779B97F4A7C15) + tokens[offset : offset + len(grams)]
        made.append((1, winnow(grams, 8)))
    return made


def uncommon_sketches(site: Site) -> list[Signature]:
    made = sketches(site)
    frequencies = Counter(shingle for _, values in made for shingle in values.tolist())
    most = max(2, round(COMMON * len(made)))
    return [(modulus, without_common(values, frequencies, most)) for modulus, values in made]


def by_sentences(site: Site) -> list[Signature]:
    return [(1, sentences(content.text)) for content in site.contents]


def counted(site: Site) -> tuple[list[np.ndarray], Counter[int]]:
    """The tokens of each page, and how many pages have each."""
    documents = [token_hashes(content.text) for content in site.contents]
    return documents, Counter(
        token for tokens in documents for token in np.unique(tokens).tolist()
    )


def i_matched_by_several(site: Site) -> list[Signature]:
    documents, frequencies = counted(site)
    return [(1, i_match_many(tokens, frequencies, len(documents))) for tokens in documents]


def i_matched(site: Site) -> list[Signature]:
    documents, frequencies = counted(site)
    signatures = [i_match(tokens, frequencies, len(documents)) for tokens in documents]
    return [(1, np.array([] if one is None else [one], np.uint64)) for one in signatures]


def checksummed(site: Site) -> list[Signature]:
    made = []
    for content in site.contents:
        sums = bucket_checksums(token_hashes(content.text), BUCKETS)
        # Lists are told apart by their number; an empty one says nothing.
        named = sums ^ (np.arange(BUCKETS, dtype=np.uint64) << np.uint64(58))
        made.append((1, np.sort(named[sums > 0])))
    return made


def resembling(ours: Signature, theirs: Signature) -> bool:
    modulus = max(ours[0], theirs[0])
    a, b = (mod_sketch(each[1], modulus) for each in (ours, theirs))
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared > 0 and shared / (len(a) + len(b) - shared) >= RESEMBLANCE


def agreeing(ours: Signature, theirs: Signature) -> bool:
    wanted = min(AGREE, len(ours[1]))
    return len(np.intersect1d(ours[1], theirs[1])) >= wanted


def sharing_one(ours: Signature, theirs: Signature) -> bool:
    return len(np.intersect1d(ours[1], theirs[1])) > 0


def by_sets(
    sign: Callable[[Site], list[Signature]], alike: Callable[[Signature, Signature], bool]
) -> Callable[[Site], set[int]]:
    """Return what compares pages by sets of numbers."""
    return lambda site: drops(sign(site), alike)


def by_simhash(
    prepared: Callable[[list[np.ndarray]], Iterable[np.ndarray]], shingle_size: int
) -> Callable[[Site], set[int]]:
    """Return what compares pages by fingerprints of tokens that are `prepared`."""

    def dropped(site: Site) -> set[int]:
        documents = [token_hashes(content.text) for content in site.contents]
        index, found = HammingIndex(DISTANCE), set()
        for number, tokens in enumerate(prepared(documents)):
            if not len(tokens):
                continue
            fingerprint = simhash_features(
                *features(tokens, shingle_size=shingle_size, weights="tf")
            )
            if index.query(fingerprint):
                found.add(number)
            else:
                index.add(fingerprint)
        return found

    return dropped


def with_phrases(documents: list[np.ndarray]) -> Iterable[np.ndarray]:
    phrases = find_phrases(documents)
    return (joined(tokens, phrases) for tokens in documents)


def without_stop_words(documents: list[np.ndarray]) -> Iterable[np.ndarray]:
    return (without(tokens, STOP_WORDS) for tokens in documents)


def as_it_is(site: Site) -> set[int]:
    order = list(range(len(site.pages)))
    return set(asyncio.run(crawl(Reader.of(site, preset("best")), order)))


METHODS: dict[str, Callable[[Site], set[int]]] = {
    "mod-p sketch (4-shingles)": by_sets(sketches, resembling),
    "mod-p, common shingles dropped": by_sets(uncommon_sketches, resembling),
    "winnowing (k=4, w=8)": by_sets(winnowed, resembling),
    "COPS: sentences": by_sets(by_sentences, resembling),
    "I-Match (idf .2 to .8)": by_sets(i_matched, agreeing),
    "I-Match, 11 lexicons": by_sets(i_matched_by_several, sharing_one),
    f"word buckets ({AGREE} of {BUCKETS})": by_sets(checksummed, agreeing),
    "simhash: words": by_simhash(iter, 1),
    "simhash: no stop words": by_simhash(without_stop_words, 1),
    "simhash: phrases and words": by_simhash(with_phrases, 1),
    "simhash: 3-shingles": by_simhash(iter, 3),
    "the plugin (best)": as_it_is,
}


def drops(signatures: list[Signature], alike: Callable[[Signature, Signature], bool]) -> set[int]:
    """Return which pages are dropped against the kept pages before them."""
    holders: dict[int, list[int]] = defaultdict(list)
    dropped = set()
    for number, ours in enumerate(signatures):
        shared = Counter(page for value in ours[1].tolist() for page in holders.get(value, ()))
        # The likeliest first; what shares least can't agree either.
        if any(alike(ours, signatures[page]) for page, _ in shared.most_common(20)):
            dropped.add(number)
            continue
        for value in ours[1].tolist():
            holders[value].append(number)
    return dropped


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_site_options(parser)
    parser.add_argument("--method", nargs="*", choices=METHODS, help="only these")
    options = parser.parse_args()
    with named(options, parser) as sources:
        sites = [load(source) for source in sources]
    print(f"{'signature':30} {'P':>6} {'R':>6} {'lost':>6} {'dropped':>8}")
    for name in options.method or METHODS:
        scores = [site.judge(list(range(len(site.pages))), METHODS[name](site)) for site in sites]
        pooled = sum(scores, Score())
        assert pooled.dropped <= pooled.pages
        print(f"{name:30} {pooled.precision:6.3f} {pooled.recall:6.3f} {pooled.lost:6d} "
              f"{pooled.dropped:8d}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
