import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "report.py"


def test_the_benchmark_runs_and_checks_its_counts():
    made = subprocess.run(
        [sys.executable, BENCHMARK, "--quick"], capture_output=True, text=True, check=True
    )
    assert re.search(r"^10,000 lines, 5,\d\d\d drops, \d+ MB: ", made.stdout, re.MULTILINE)
