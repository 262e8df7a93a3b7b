"""The benchmark of the Redis store runs, and its answers are checked by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "redis_store.py"


def test_a_quick_run():
    command = [sys.executable, str(BENCHMARK), "--quick", "--tables", "4"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures = {line[:34].strip(): line[34:].split() for line in run.stdout.splitlines()[3:]}
    packed, naive, ratio = map(float, figures["bytes"])
    assert packed > 0
    assert abs(naive / packed - ratio) < 0.02
    assert {"bytes of tables", "new: p99 µs", "duplicate, 8 at once: pages/s"} <= set(figures)
