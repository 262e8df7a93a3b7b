"""The benchmark runs; it compares its answers itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "joins.py"


def test_a_quick_run():
    pytest.importorskip("duckdb")
    pytest.importorskip("SetSimilaritySearch")
    run = subprocess.run(
        [sys.executable, BENCHMARK, "--quick"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "2,000 short records" in run.stdout
    assert "edit distance" in run.stdout
