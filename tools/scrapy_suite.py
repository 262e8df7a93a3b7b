"""Run Scrapy's own tests of middlewares, engine and crawls without the add-on and with it.

``python tools/scrapy_suite.py`` takes them from the source distribution of the Scrapy that is
installed in ``.cache/matrix/scrapy``, an environment that it makes, and lists the tests whose
outcome is another with the add-on switched on in every crawler. These are run once more, one after
the other, since some of Scrapy's tests are timed. Standard library only. Exit status: 1 if there
is such a test.
"""

# ruff: noqa: INP001, T201, S603, S314  (a script that runs pip and pytest, and reads its report)

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree as ET

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / ".cache" / "matrix" / "scrapy"
TESTS = (
    "test_middleware.py", "test_spidermiddleware*.py", "test_downloadermiddleware*.py",
    "test_engine*.py", "test_crawl.py", "test_crawler.py", "test_spider_crawl.py",
    "test_pipeline_crawl.py",
)  # fmt: skip
NEEDED = (
    "attrs", "pexpect", "psutil", "pyftpdlib", "pygments", "pytest", "pytest-rerunfailures",
    "pytest-timeout", "pytest-twisted", "pytest-xdist", "sybil", "testfixtures",
)  # fmt: skip
"""What Scrapy's tests need beside Scrapy."""
PLUGIN = """
from pathlib import Path

from scrapy.settings import default_settings
from scrapy_neardup import Addon

update_settings = Addon.update_settings


def counted(self, settings):
    update_settings(self, settings)
    with Path(__file__).with_suffix(".count").open("a") as file:
        file.write("x")


Addon.update_settings = counted
default_settings.ADDONS = {"scrapy_neardup.Addon": 500}
"""
"""Switches the add-on on, and counts the crawlers that have it."""


def python() -> str:
    """Return the interpreter of an environment with the package and what Scrapy's tests need."""
    binary = FOLDER / "bin" / "python"
    if not binary.exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(FOLDER)])
    install = [str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call([*install, ".", *NEEDED], cwd=REPOSITORY)
    return str(binary)


def sources(binary: str) -> Path:
    """Return the unpacked source distribution of the Scrapy that is installed."""
    show = [binary, "-c", "import scrapy; print(scrapy.__version__)"]
    version = subprocess.run(show, check=True, capture_output=True, text=True).stdout.strip()
    unpacked = FOLDER / "sdist" / f"scrapy-{version}"
    if not unpacked.exists():
        subprocess.check_call(
            [binary, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "scrapy",
             "--dest", str(unpacked.parent), f"scrapy=={version}"]
        )  # fmt: skip
        with tarfile.open(unpacked.parent / f"{unpacked.name}.tar.gz") as archive:
            archive.extractall(unpacked.parent, filter="data")
    return unpacked


def outcomes(binary: str, folder: Path, tests: list[str], *options: str) -> dict[str, str]:
    """Run tests; return what became of each."""
    report = FOLDER / "report.xml"
    report.unlink(missing_ok=True)  # that of another run
    subprocess.call(
        [binary, "-m", "pytest", "-q", f"--junitxml={report}", *options, *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        stdout=subprocess.DEVNULL,
    )
    return {
        test_id(f"{case.get('classname')}", f"{case.get('name')}"): next(
            (part.tag for part in case), "passed"
        )
        for case in ET.parse(report).iter("testcase")
    }


def test_id(place: str, name: str) -> str:
    """Return what pytest calls a test that its report calls ``tests.test_a.TestB``, ``test_c``."""
    parts = place.split(".")
    modules = next(end for end, part in enumerate(parts, 1) if part.startswith("test_"))
    return "::".join(["/".join(parts[:modules]) + ".py", *parts[modules:], name])


def different(without: dict[str, str], with_it: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the tests that have another outcome, with both."""
    return {
        name: (was, with_it.get(name, "missing"))
        for name, was in without.items()
        if with_it.get(name) != was
    }


def main() -> int:
    """Compare, and print what differs."""
    binary = python()
    folder = sources(binary)
    (FOLDER / "with_add_on.py").write_text(PLUGIN)
    counted = FOLDER / "with_add_on.count"
    counted.write_text("")
    add_on, both = ("-p", "with_add_on"), ("-n", "2")
    files = sorted(str(path) for name in TESTS for path in (folder / "tests").glob(name))
    without = outcomes(binary, folder, files, *both)
    with_it = outcomes(binary, folder, files, *both, *add_on)
    crawlers = len(counted.read_text())
    differing = different(without, with_it)
    if differing:
        again = list(differing)
        differing = different(
            outcomes(binary, folder, again), outcomes(binary, folder, again, *add_on)
        )
    passed = sum(outcome == "passed" for outcome in without.values())
    print(
        f"{folder.name}: {len(without)} tests, {passed} pass without the add-on, which was on in"
        f" {crawlers:,} crawlers"
    )
    for name, (was, now) in sorted(differing.items()):
        print(f"  {name}: {was} without it, {now} with it")
    print(f"{len(differing)} differ with it")
    return min(len(differing), 1)


if __name__ == "__main__":
    sys.exit(main())
