"""Every benchmark runs on little data; they check their answers themselves."""

import importlib.util
import random
import re
from pathlib import Path

import pytest
from forked import python

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
NEEDED = {
    "fingerprints": ("simhash", "bs4"), "joins": ("duckdb",), "quality_pictures": ("matplotlib",),
    "dedupe": ("pyarrow",), "workers": ("pyarrow",),
}  # fmt: skip
PRINTED = {
    "ablation": r"(?m)^other media \(4\) +1\.000",
    "batch": r"(?m)^ +400,000 +numpy .* 1\.000 +0 ",
    "broad": r"(?m)^query +with +\d",
    "cost": r"the page again",
    "crawl": r"best memory: +median ",
    "dedupe": r"copy 1\.0000",
    "feature_clusters": r"20,000 pages, 2 of 6 features",
    "fingerprints": r"simhash, 20,000 tokens",
    "hazards": r"course-dates",
    "index": r"(?m)^pure +20,000 .* 1\.000 +0$",
    "joins": r"(?s)2,000 short.*cosine.*Growth: records.*4-grams.*1,024 bins and",
    "packed": r"(?s)\nhuffman .* 0\n5,000 pages in 4.*\nnew .*\nrepeated .*\nthe same .*wrong: 0",
    "quality": r"(?s)1\.000 of 2 pairs found, 0 across sites.*1 random.*\ntoy +120 +1\.000 ",
    "quality_pictures": r"fingerprints\.png",
    "report": r"(?m)^10,000 lines, 5,\d\d\d drops, \d+ MB: ",
    "s3pairs": r"best +2 +0 +0 +0\n",
    "signatures": r"(?m)^winnowing +1\.000 +1\.000 +0$",
    "sketches": r"(?s)M_s, s = bins.*resemblance 0\.975: by the curve.*independent, alone",
    "workers": r"(?m)^dedupe +\d+\.\d\d ",
    "worlds": r"families lose nothing",
}
"""What a quick run of each prints."""
PARTS = {"hazards": ["--kind", "course-dates"], "worlds": ["--family", "codes", "kinds-own"]}
"""Of what takes long even on little data, a part."""
ELSEWHERE = {"kinds", "redis_store", "traps"}
"""Those with a test of their own."""


def run(script, *options, folder=None):
    return python(BENCHMARKS / f"{script}.py", *options, cwd=folder)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    chance = random.Random(1)
    for number in range(24):
        words = " ".join(f"w{chance.randrange(5000)}" for _ in range(100))
        page = f"<title>Page {number}</title><a href='/{number}'>next</a><p>{words}"
        (folder / f"page {number}.html").write_text(page)
    return folder


@pytest.mark.parametrize("script", PRINTED)
def test_a_quick_run(script, site, tmp_path):
    for needed in NEEDED.get(script, ()):
        pytest.importorskip(needed)
    of_a_site = ["--preset", "best", "--", site] if script in {"cost", "crawl"} else []
    own = PARTS.get(script, of_a_site)
    done = run(script, "--quick", *own, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(PRINTED[script], done.stdout), done.stdout
    assert not list(tmp_path.iterdir())


def test_all_are_run_here_and_by_make():
    scripts = {path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text()}
    assert scripts == {*PRINTED, *ELSEWHERE}
    assert scripts <= set(re.findall(r"\w+", (ROOT / "Makefile").read_text()))


def test_a_parameter_that_is_none():
    done = run("quality", "--quick", "--set", "distance=3")
    assert done.returncode == 1
    assert "Parameters has no field 'distance'" in done.stderr


def test_help_tells_what_is_measured():
    if importlib.util.find_spec("simhash"):
        assert "--quick" in run("fingerprints", "--help").stdout
    assert "IndexBinaryMultiHash" in run("index", "--help").stdout
