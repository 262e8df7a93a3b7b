"""Hostile trees, read by what is compiled and by pure Python: the same is made of each.

``make sanitize`` runs this with modules that were compiled to notice any wrong use of memory.
``python test_compiled.py FIRST COUNT`` prints a line for each of some trees: its seed, and a
digest of all that is made of it. It is run compiled, and with ``NEARDUP_PURE=1``.
"""

import os
import random
import sys
import time
from dataclasses import replace
from hashlib import blake2b

import forked
import numpy as np
import pytest
from hostile_trees import hostile_tree

from scrapy_neardup import _speed
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS

TREES = int(os.environ.get("STRESS_TREES", "20000"))
LEG = 2_000
"""Trees of one process."""

pytestmark = [
    pytest.mark.stress,
    pytest.mark.timeout(86_400),
    pytest.mark.skipif(_speed.load("walk") is None, reason="nothing is compiled"),
]

KINDS = [
    *(Parameters(**PRESETS[preset]) for preset in sorted(PRESETS)),
    replace(Parameters(), text="full", weights="sqrt", min_tokens=4),
    replace(Parameters(), hash_key=b"secret", shingle_size=1, sketch=(64, 64)),
]


def said(seed: int, analysers: list[Analyser]) -> str:
    """Return what a seed's page says, for all that is the same whichever way it was read."""
    if (tree := hostile_tree(seed)) is None:
        return ""
    analyser = analysers[seed % len(analysers)]
    content = analyser.read(tree[0])
    page = analyser.page(content, page_id=seed, url=f"http://a.test/{content.title}?a={seed}")
    text = page.text if isinstance(page, AnalysedPage) else None
    parts = (each.tolist() if isinstance(each, np.ndarray) else each for each in text or ())
    return repr([content, page, *parts])


def main(first: int, count: int) -> None:
    """Print the lines, and at last the most seconds of CPU time that a page took."""
    analysers, slowest = [Analyser(kind) for kind in KINDS], 0.0
    for seed in range(first, first + count):
        start = time.process_time()
        text = said(seed, analysers)
        slowest = max(slowest, time.process_time() - start)
        print(seed, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest())
    print(slowest)


def digests(first: int, count: int, **environment: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = forked.python(__file__, first, count, env=environment, timeout=None)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_hostile_trees(tried):
    first, slowest = random.randrange(1 << 32), 0.0
    for start in range(first, first + TREES, LEG):
        count = min(LEG, first + TREES - start)
        *compiled, taken = digests(start, count)
        *pure, _ = digests(start, count, NEARDUP_PURE="1")
        assert compiled == pure
        assert len(pure) == count
        slowest = max(slowest, float(taken))
    tried("hostile trees, compiled and pure", TREES, longest=slowest)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
