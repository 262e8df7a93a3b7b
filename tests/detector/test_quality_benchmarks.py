"""The benchmarks of quality run on a made-up site and say what they are for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NEEDED = {"quality_pictures.py": ["matplotlib"]}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("quality.py", "1 random"),
        ("quality.py", "1.000 of 2 pairs found, 0 across sites"),
        ("sketch_sizes.py", "by the curve"),
        ("tuning.py", "toy           120     60"),
        ("quality_pictures.py", "fingerprints.png"),
        ("hazards.py", "course-dates"),
        ("s3pairs.py", "best                     2           0           0           0"),
    ],
)
def test_a_quick_run(script, said, tmp_path):
    for needed in NEEDED.get(script, ()):
        pytest.importorskip(needed)
    command = [sys.executable, BENCHMARKS / script, "--quick"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_parameter_that_is_none():
    command = [sys.executable, "-B", BENCHMARKS / "quality.py", "--quick", "--set", "distance=3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Parameters has no field 'distance'" in done.stderr
