"""The benchmark runs; it checks its answers itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "fingerprints.py"


@pytest.mark.parametrize("option", ["--quick", "--help"])
def test_it_runs(option):
    pytest.importorskip("simhash")
    pytest.importorskip("bs4")
    run = subprocess.run(
        [sys.executable, BENCHMARK, option], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    if option == "--quick":
        assert "simhash, 20,000 tokens" in run.stdout
