"""The benchmarks of cost run; they check their answers themselves."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    chance = random.Random(1)
    for number in range(24):
        words = " ".join(f"w{chance.randrange(5000)}" for _ in range(100))
        page = f"<title>Page {number}</title><a href='/{number}'>next</a><p>{words}"
        (folder / f"page {number}.html").write_text(page)
    return folder


@pytest.mark.parametrize(
    ("script", "said"),
    [("cost.py", "the page again"), ("crawl.py", "best memory:             median")],
)
def test_a_quick_run(site, script, said):
    run = subprocess.run(
        [sys.executable, "-B", BENCHMARKS / script, "--quick", "--preset", "best", "--", site],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert said in run.stdout
