"""Hostile trees, read by what is compiled and by pure Python: the same is made of each.

``make sanitize`` runs this with modules that were compiled to notice any wrong use of memory.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import page_digests
import pytest

from scrapy_neardup import _speed

TREES = int(os.environ.get("STRESS_TREES", "20000"))
LEG = 2_000
"""Trees of one process."""

pytestmark = [
    pytest.mark.stress,
    pytest.mark.timeout(86_400),
    pytest.mark.skipif(_speed.load("walk") is None, reason="nothing is compiled"),
]


def digests(first: int, count: int, **environment: str) -> list[str]:
    paths = [str(Path(page_digests.__file__).parent), *sys.path]
    return subprocess.run(
        [sys.executable, page_digests.__file__, str(first), str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.splitlines()


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
