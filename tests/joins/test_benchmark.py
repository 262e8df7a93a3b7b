"""The benchmark runs; it compares its answers itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run_quickly(name):
    return subprocess.run(
        [sys.executable, BENCHMARKS / name, "--quick"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_quick_run():
    pytest.importorskip("duckdb")
    run = run_quickly("joins.py")
    assert run.returncode == 0, run.stderr
    assert "2,000 short records" in run.stdout
    assert "edit distance" in run.stdout
    assert "cosine" in run.stdout


def test_the_experiments_of_xiao():
    run = run_quickly("xiao.py")
    assert run.returncode == 0, run.stderr
    assert "Growth: records" in run.stdout
    assert "4-grams of characters" in run.stdout


def test_clusters_by_features():
    run = run_quickly("feature_clusters.py")
    assert run.returncode == 0, run.stderr
    assert "20,000 pages, 2 of 6 features" in run.stdout


def test_the_curve_of_a_filter():
    pytest.importorskip("matplotlib")
    run = run_quickly("filter_curve.py")
    assert run.returncode == 0, run.stderr
    assert "resemblance 0.975: by the curve" in run.stdout


def test_containment_and_its_estimates():
    run = run_quickly("containment.py")
    assert run.returncode == 0, run.stderr
    assert "1,024 bins and sizes" in run.stdout
