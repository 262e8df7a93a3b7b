"""The benchmark runs, and its answers are right (it checks them itself)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "stores.py"


def run(*arguments: str) -> list[str]:
    finished = subprocess.run(
        [sys.executable, BENCHMARK, *arguments], check=False, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def test_a_quick_run_measures_all_there_is():
    _, *rows = run("--quick")
    assert [row.split()[:2] for row in rows] == [
        ["20,000", "memory"],
        ["20,000", "memory_with_urls"],
        ["20,000", "sqlite"],
    ]
    assert "bytes a page" in rows[0]
    assert "new" in rows[0]
    assert "duplicate" in rows[0]
    assert "opened in" in rows[2]


def test_its_help_says_what_is_measured():
    assert "seconds to open" in "\n".join(run("--help"))
