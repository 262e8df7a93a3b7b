"""Pages that share a template and differ in a little: which of them a crawl keeps."""

import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.settings.parameters import Parameters

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from focused import judged  # noqa: E402

TOLD_APART = [
    "5 to 15 words",
    "16 to 31 words",
    "32 to 100 words",
    "phrase of 8 to 31",
    "profile",
    "branch",
    "product, description",
    "report",
    "figures",
    "months",
]


@pytest.mark.parametrize("family", TOLD_APART)
@pytest.mark.parametrize("preset", ["best", pytest.param("compact", marks=pytest.mark.stress)])
def test_no_page_is_lost(preset, family):
    count = judged(family, Parameters(**PRESETS[preset]), seeds=1, pages=12)
    assert not count.lost.total()
    assert not count.again["links"]


def test_simhash_alone_loses_what_differs_in_a_name():
    count = judged("product, code", Parameters(**PRESETS["paper"]), seeds=1, pages=12)
    assert count.lost.total() > count.pages.total() // 10


@pytest.mark.benchmark
def test_a_quick_run():
    command = [sys.executable, "-B", BENCHMARKS / "focused.py", "--quick", "--preset", "paper"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "all but versions" in done.stdout
