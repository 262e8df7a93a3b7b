import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "index.py"


def test_a_quick_run_reports_both_ways_to_fill_the_index():
    run = subprocess.run(
        [sys.executable, BENCHMARK, "--quick"], check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    rows = {line.split()[0]: line.split() for line in run.stdout.splitlines()}
    header = rows["index"]
    for name in ("scrapy-neardup", "add_many", "pure"):
        row = dict(zip(header, rows[name], strict=True))
        assert row["size"] == "20,000"
        assert row["recall"] == "1.000"
        assert row["wrong"] == "0"
        assert float(row["median"]) > 0
        assert float(row["bytes"]) > 0


def test_its_help_says_what_is_compared():
    run = subprocess.run(
        [sys.executable, BENCHMARK, "--help"], check=True, capture_output=True, text=True
    )
    assert "IndexBinaryMultiHash" in run.stdout
