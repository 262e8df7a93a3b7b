"""The benchmarks run; they check their answers themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "column"),
    [
        ("sketches.py", "M_s, s = bins"),
    ],
)
def test_a_quick_run(script, column):
    command = [sys.executable, "-B", BENCHMARKS / script, "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert column in run.stdout
