"""The Makefile's promises that need no network."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from forked import python

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_help_lists_every_target():
    shown = subprocess.run(["make"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    targets = re.search(r"^\.PHONY: (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^make (\S+)", shown.stdout, re.MULTILINE) == targets[1].split()


@pytest.mark.parametrize(("lacks", "told"), [
    ("sys.modules['ensurepip'] = None", ["python3-venv", "PYTHON="]),
    ("sys.version_info = (3, 9, 0)", ["is Python 3.9; 3.11 or later is needed"]),
])  # fmt: skip
def test_a_python_that_cannot_make_an_environment_is_told_what_is_needed(tmp_path, lacks, told):
    (tmp_path / "sitecustomize.py").write_text(f"import sys\n{lacks}\n")
    tool, lacking = REPOSITORY / "tools" / "environment.py", {"PYTHONPATH": str(tmp_path)}
    done = python(tool, tmp_path / "venv", env=lacking)
    assert done.returncode == 2
    assert all(each in done.stderr for each in told)
    assert not (tmp_path / "venv").exists()


def matrix(code, **variables):
    """Return what code prints that knows `tools/matrix.py`."""
    tools = {"PYTHONPATH": str(REPOSITORY / "tools")}
    return python("-c", f"import matrix; {code}", env=tools | variables, check=True).stdout


def test_the_oldest_of_each_dependency_is_what_the_matrix_takes():
    shown = matrix("print('\\n'.join(matrix.oldest_versions()))")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["redis"]]
    wanted = [each.partition(">=")[0] for each in needed]
    assert [line.partition("==")[0] for line in shown.split()] == [*wanted, "twisted"]
    assert "scrapy==2.13.*" in shown
    assert "numpy==2.0.*" in shown


def test_the_matrix_finds_a_python_behind_a_shim_that_does_not_run(tmp_path):
    shim, behind = (tmp_path / place / "python3.99" for place in ("shims", "versions/3.99.0/bin"))
    for path, does in ((shim, "echo not switched on >&2; exit 127"), (behind, "exit 0")):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)
    found = matrix("print(matrix.python(99))", PATH=f"{shim.parent}:/usr/bin:/bin")
    assert found.strip() == str(behind)
