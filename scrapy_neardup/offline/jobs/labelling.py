"""Precision and recall from pairs that a person has labelled (Manku et al. 2007, section 4.1).

Equally many pairs of pages are drawn at each Hamming distance. A person says for each pair whether
the two are near-duplicates. For each k, that gives precision and recall of "at most k bits".
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import InputError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.truth import ReadPage
from scrapy_neardup.offline.jobs.tuning import Progress, Share, share
from scrapy_neardup.offline.readers.files import objects
from scrapy_neardup.verdict import Page

MOST_BITS = 10
"""Largest distance of a drawn pair, as in Figure 1 of the paper."""

LABELS = ("true", "false", "unknown")
"""Labels of a pair: near-duplicates, different pages, or unknown."""

_LABEL = "a label, as tune --label's page saves them"
_HELD = 1 << 20
"""Number of pairs held in memory before pairs that aren't drawn are forgotten."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A pair's distance in bits, the number of pairs at it in the collection, and a label."""

    distance: int
    pairs: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """Precision and recall of "within `k` bits" by the labels.

    `pairs` of the collection are at exactly k bits; `labels` of these are true, false and unknown.
    Precision and recall are those of the labelled pairs (`drawn`), as in the paper, and of
    `all_pairs`: each label counts for as many pairs as it was drawn from.
    """

    k: int
    pairs: int
    labels: tuple[int, int, int]
    drawn: tuple[Share, Share]
    all_pairs: tuple[Share, Share]


def draw_pairs(
    fingerprints: NDArray[np.uint64], each: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw up to `each` pairs at each distance to `MOST_BITS`, uniformly, without repetition.

    Returns pairs (m, 3) int64 in random order (two rows, the smaller first, and their distance),
    and the number of pairs at each distance. O(n^2) popcounts, some 10 s for 100,000 fingerprints.
    """
    source = np.random.default_rng(seed)
    counts = np.zeros(MOST_BITS + 1, np.int64)
    # Pairs are ranked at random; of each distance the least ranks are drawn.
    limits = np.ones(MOST_BITS + 1)
    parts: list[NDArray[np.float64]] = [np.empty((0, 4))]
    held = 0
    for row in range(len(fingerprints)):
        distances = np.bitwise_count(fingerprints[row + 1 :] ^ fingerprints[row])
        near = np.flatnonzero(distances <= MOST_BITS)
        counts += np.bincount(distances[near], minlength=MOST_BITS + 1)
        ranks = source.random(len(near))
        ranked = ranks < limits[distances[near]]
        near, ranks = near[ranked], ranks[ranked]
        parts.append(
            np.stack([np.full(len(near), row), near + row + 1, distances[near], ranks], 1)
        )
        held += len(near)
        if held > _HELD or row == len(fingerprints) - 1:
            together = np.concatenate(parts)
            together = together[np.argsort(together[:, 3])]
            kept = [np.flatnonzero(together[:, 2] == bits)[:each] for bits in range(len(counts))]
            limits = np.array([together[at[-1], 3] if len(at) == each else 1 for at in kept])
            parts = [together[np.sort(np.concatenate(kept))]]
            held = len(parts[0])
    return parts[0][:, :3].astype(np.int64), counts


def study(
    pages: Iterable[ReadPage], each: int, seed: int = 0, progress: Progress = lambda *_: None
) -> dict[str, Any]:
    """Return the data of the page for labelling: names, packed texts, and drawn pairs.

    Fingerprints are those of the preset ``paper``; pages too short for one take no part. Texts are
    in a temporary file meanwhile.
    """
    analyser = Analyser(Parameters.of_preset("paper"))
    names: list[str] = []
    fingerprints: list[int] = []
    ends = [0]
    with TemporaryFile() as file:
        for number, page in enumerate(pages, 1):
            content = page.content
            found = content and analyser.page(content, page_id=number, url=page.name)
            if content and isinstance(found, Page) and not found.exact:
                names.append(page.name)
                fingerprints.append(found.fingerprint)
                packed = zlib.compress(
                    f"{content.title}\n{content.text}".encode("utf-8", "replace")
                )
                ends.append(ends[-1] + file.write(packed))
            progress(number, "pages read")
        pairs, counts = draw_pairs(np.array(fingerprints, np.uint64), each, seed)
        if not len(pairs):
            raise InputError(
                f"of {len(names):,} pages with a fingerprint no two are within {MOST_BITS} bits:"
                " there is nothing to label; give more pages"
            )
        shown, places = np.unique(pairs[:, :2], return_inverse=True)
        texts = []
        for number in shown.tolist():
            file.seek(ends[number])
            packed = file.read(ends[number + 1] - ends[number])
            texts.append({"name": names[number], "packed": b64encode(packed).decode()})
    rows = zip(places.reshape(-1, 2).tolist(), pairs[:, 2].tolist(), strict=True)
    return {"texts": texts, "pairs": [[a, b, bits, int(counts[bits])] for (a, b), bits in rows]}


def read_labels(path: str) -> list[LabelledPair]:
    """Return the labels of a file saved by the page for labelling."""
    found = []
    for where, line in objects(path, _LABEL):
        match line:
            case {"distance": int(bits), "pairs": int(pairs), "label": str(label)} if (
                0 <= bits <= MOST_BITS and pairs > 0 and label in LABELS
            ):
                found.append(LabelledPair(bits, pairs, label))
            case _:
                raise InputError(f"{where}: not {_LABEL}")
    if not any(each.label == "true" for each in found):
        raise InputError(f"{path}: no pair is labelled true: precision and recall need some")
    return found


def by_distance(found: list[LabelledPair]) -> list[AtMost]:
    """Return precision and recall of each k, up to the largest labelled distance.

    Pairs labelled unknown don't count, nor do near-duplicates at larger distances.
    """
    judged = [pair for pair in found if pair.label != "unknown"]
    bits = np.array([pair.distance for pair in judged])
    true = np.array([pair.label == "true" for pair in judged])
    alike = np.ones(len(judged))
    weights = np.array([pair.pairs for pair in judged]) / np.bincount(bits)[bits]

    def shares(k: int, weights: NDArray[np.float64]) -> tuple[Share, Share]:
        within = bits <= k
        return _share(true, within, weights), _share(within, true, weights)

    def row(k: int) -> AtMost:
        here = [pair for pair in found if pair.distance == k]
        a, b, c = (sum(pair.label == label for pair in here) for label in LABELS)
        return AtMost(
            k=k, pairs=max((pair.pairs for pair in here), default=0), labels=(a, b, c),
            drawn=shares(k, alike), all_pairs=shares(k, weights),
        )  # fmt: skip

    return [row(k) for k in range(max(pair.distance for pair in found) + 1)]


def _share(
    part: NDArray[np.bool_], whole: NDArray[np.bool_], weights: NDArray[np.float64]
) -> Share:
    """Return the weighted share of `part` in `whole`, of Kish's effective sample size (1965)."""
    own = weights[whole]
    effective = own.sum() ** 2 / (own**2).sum() if len(own) else 0
    return share(float(weights[whole & part].sum()), float(own.sum()), effective)
