import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(name, *options):
    """What a benchmark prints; it ends with an error where an answer is wrong."""
    command = [sys.executable, FOLDER / name, *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_batch():
    rows = [line.split() for line in run("batch.py", "--quick").splitlines()]
    table = [row for row in rows if row[1:2] in (["numpy"], ["compiled"])]
    sizes = ["100,000", "200,000", "400,000"]
    assert [row[0] for row in table if row[1] == "numpy"] == sizes
    assert [row[0] for row in table if row[1] == "compiled"] in (sizes, [])
    assert {(row[5], row[6]) for row in table} == {("1.000", "0")}


def test_packed():
    rows = [line.split() for line in run("packed.py", "--quick").splitlines()]
    table = {row[0]: row for row in rows if len(row) == 9}
    for name in ("sorted", "elias-fano", "pure", "huffman"):
        assert table[name][-1] == "0"
    assert float(table["elias-fano"][4]) < float(table["huffman"][4]) < 64


def test_packed_pages():
    lines = run("packed_pages.py", "--quick").splitlines()
    assert lines[0].startswith("5,000 pages in 4 tables")
    assert [line.partition("  ")[0] for line in lines[1:4]] == ["new", "repeated", "the same"]
    assert lines[-1] == "wrong: 0"


@pytest.mark.parametrize("name", ["batch.py", "packed.py", "packed_pages.py"])
def test_help(name):
    assert "--quick" in run(name, "--help")
