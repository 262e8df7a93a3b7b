"""Other signatures of the literature on the pages of `quality.py`, by the same truth.

Pages come in the order of the truth and are compared with the kept ones. A page is dropped
where a kept page's signature agrees: mod-p sketches and winnowing fingerprints from an
estimated resemblance of .9, I-Match on equality, word-bucket checksums from 12 of 16.

    python benchmarks/survey.py --truth DIR SITE_FOLDER...
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
from named_sites import add_site_options, named
from sites import Score, Site, load

from scrapy_neardup.fingerprints import features, token_hashes
from scrapy_neardup.fingerprints.survey import (
    bucket_checksums,
    i_match,
    mod_sketch,
    modulus_for,
    winnow,
)

RESEMBLANCE = 0.9
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


def i_matched(site: Site) -> list[Signature]:
    documents = [token_hashes(content.text) for content in site.contents]
    frequencies = Counter(token for tokens in documents for token in np.unique(tokens).tolist())
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


METHODS: dict[str, tuple[Callable[[Site], list[Signature]], Callable[..., bool]]] = {
    "mod-p sketch (4-shingles)": (sketches, resembling),
    "winnowing (k=4, w=8)": (winnowed, resembling),
    "I-Match (idf .2 to .8)": (i_matched, resembling),
    f"word buckets ({AGREE} of {BUCKETS})": (checksummed, agreeing),
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
    options = parser.parse_args()
    with named(options, parser) as sources:
        sites = [load(source) for source in sources]
    print(f"{'signature':30} {'P':>6} {'R':>6} {'lost':>6} {'dropped':>8}")
    for name, (sign, alike) in METHODS.items():
        scores = [
            site.judge(list(range(len(site.pages))), drops(sign(site), alike)) for site in sites
        ]
        pooled = sum(scores, Score())
        assert pooled.dropped <= pooled.pages
        print(f"{name:30} {pooled.precision:6.3f} {pooled.recall:6.3f} {pooled.lost:6d} "
              f"{pooled.dropped:8d}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
