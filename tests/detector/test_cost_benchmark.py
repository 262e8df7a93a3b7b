"""The benchmark runs; it checks its answers itself."""

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "cost.py"


def test_a_quick_run():
    run = subprocess.run(
        [sys.executable, "-B", BENCHMARK, "--quick"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "a duplicate" in run.stdout
