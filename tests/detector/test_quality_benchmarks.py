import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("script", ["quality.py", "survey.py"])
def test_a_quick_run(script, tmp_path):
    command = [sys.executable, BENCHMARKS / script, "--quick"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "dropped" in done.stdout
    assert not list(tmp_path.iterdir())
