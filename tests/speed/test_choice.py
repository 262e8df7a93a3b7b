"""Which of two twins does the work."""

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from forked import python

from scrapy_neardup import _speed
from scrapy_neardup._speed.kernels import KERNELS


def double(value):
    return 2 * value


def failing(error):
    def twin(value):
        raise error

    return twin


class Panic(Exception):  # noqa: N818
    """Of a class that nobody expects."""


def compiled_as(monkeypatch, twin):
    monkeypatch.setattr(_speed, "load", lambda name: SimpleNamespace(double=twin))


def test_a_twin_that_agrees_is_taken_and_without_the_module_there_is_nothing_to_say(
    monkeypatch, caplog
):
    twin = lambda value: value + value
    compiled_as(monkeypatch, twin)
    assert _speed.has_twin("features", 21)(double) is twin
    monkeypatch.setattr(_speed, "load", lambda name: None)
    assert _speed.has_twin("features", 21)(double) is double
    assert not caplog.messages


@pytest.mark.parametrize("twin", [
    lambda value: value, float, lambda value: (2 * value,), lambda value, more: value, None,
    *map(failing, [IndexError("index -36 is out of bounds"), Panic(), MemoryError()]),
])  # fmt: skip
def test_a_twin_that_differs_or_raises_is_refused_with_one_line(
    monkeypatch, caplog, refused, twin
):
    compiled_as(monkeypatch, twin)
    assert _speed.has_twin("features", 21)(double) is double
    why = refused["features.double"]
    assert caplog.messages == [f"scrapy-neardup runs features.double in pure Python: {why}"]


@pytest.mark.parametrize("error", [
    ImportError("made for another lxml"), ValueError("made for another numpy"), Panic("made"),
    ModuleNotFoundError("made without numpy", name="numpy"),
])  # fmt: skip
def test_a_module_that_does_not_load_is_refused(monkeypatch, caplog, error):
    def fail(name):
        raise error

    monkeypatch.setattr(_speed, "IS_PURE", False)
    monkeypatch.setattr(_speed, "import_module", fail)
    assert _speed.load("features") is None
    assert str(error) in caplog.text


def test_equal_results_are_equal_in_type_too():
    a = np.arange(3, dtype=np.uint64)
    assert _speed.same((a, 1), (a.copy(), 1))
    assert not _speed.same((a, 1), (a.astype(np.int64), 1))
    assert not _speed.same((a, 1), (a[:2], 1))
    assert not _speed.same(1, True)


def test_the_command_says_which_way_the_package_runs():
    command, pure = ("-P", "-m", "scrapy_neardup._speed"), {**os.environ, "NEARDUP_PURE": "1"}
    said = python(*command, env=pure, check=True).stdout
    assert said.startswith("scrapy-neardup runs all in pure Python (NEARDUP_PURE=1)")
    assert python(*command, "--all", env=pure).returncode == 1


BROKEN = """
import runpy, sys
sys.argv = ["_speed", "--all"]
from scrapy_neardup import _speed
from scrapy_neardup._speed.kernels import KERNELS
from scrapy_neardup._speed import counting
def counted(*arguments):
    raise IndexError("index -36 is out of bounds")
counting.counted = counted
runpy.run_module("scrapy_neardup._speed", run_name="__main__")
"""


@pytest.mark.skipif(_speed.load("counting") is None, reason="pure Python")
def test_the_command_tries_each_function():
    """As where numpy has changed under a module that loads."""
    done = python("-P", "-c", BROKEN)
    assert "counting.counted in pure Python: " in done.stdout
    assert "IndexError('index -36 is out of bounds')" in done.stdout
    assert (done.stderr, done.returncode) == ("", 1)


ABSENT = """
import runpy, sys
sys.modules["scrapy_neardup.judge.boilerplate"] = None
sys.argv[1:] = ["--all"]
runpy.run_module("scrapy_neardup._speed", run_name="__main__")
"""


def test_a_package_that_does_not_run_is_an_error_of_the_command():
    done = python("-P", "-c", ABSENT)
    assert done.returncode == 1
    assert done.stderr.startswith("scrapy-neardup can't run: ModuleNotFoundError(")
    assert done.stderr.endswith("No crawl with it will start; install it again\n")


PACKAGE = Path(__file__).parents[2] / "scrapy_neardup"
CHOOSES = re.compile(r"\b(?:has_twin|faster_type|agreeing)\(\s*\"(\w+)\"|, \"(\w+)\", _example\)")


def test_each_module_with_a_twin_is_named():
    """Or the command and the doctor wouldn't try it."""
    assert sorted(KERNELS) == sorted(p.stem for p in PACKAGE.glob("_speed/*.pyx"))
    found = {
        (match[1] or match[2], ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
        for path in PACKAGE.rglob("*.py") if path.parent.name != "_speed"
        for match in CHOOSES.finditer(path.read_text("utf-8"))
    }  # fmt: skip
    assert found == {(name, owner) for name, owners in KERNELS.items() for owner in owners}


def translated(folder):
    """Return the C of each module, as it was compiled here if that is known, else written anew."""
    sources = [*(PACKAGE / "_speed").glob("*.p??")]
    newest = max(path.stat().st_mtime for path in [*sources, PACKAGE.parent / "setup.py"])
    for built in PACKAGE.parent.glob("build/cython-*/scrapy_neardup/_speed"):
        found = {path.stem: path for path in built.glob("[a-z]*.c")}
        if found.keys() == KERNELS.keys() and all(
            path.stat().st_mtime > newest for path in found.values()
        ):
            return found
    shutil.copytree(PACKAGE / "_speed", folder, dirs_exist_ok=True)
    options = ["-X", "wraparound=False", "-X", "boundscheck=False", "-Werror", "--shared=shared"]
    written = [folder / f"{name}.pyx" for name in KERNELS]
    python("-m", "cython", "-3", *options, *written, check=True)
    return {path.stem: path.with_suffix(".c") for path in written}


def test_no_object_is_indexed_from_its_end(tmp_path):
    """Compiled without `wraparound` that is another element, or none, with another numpy."""
    indexed = set()
    for name, path in translated(tmp_path).items():
        lines = (PACKAGE / "_speed" / f"{name}.pyx").read_text("utf-8").splitlines()
        for number in re.findall(OBJECT_INDEX, path.read_text("utf-8")):
            indexed.add((name, lines[int(number) - 1].strip()))
    assert not indexed


OBJECT_INDEX = r"__Pyx_\w*ItemInt\w*\(.*__PYX_ERR\(0, (\d+),"
"""An object's element read, set or deleted by its index, and the line in the source."""


def test_what_a_twin_does_to_its_arguments_counts(monkeypatch):
    def append(values):
        values.append(np.arange(2))

    monkeypatch.setattr(_speed, "load", lambda name: SimpleNamespace(append=lambda values: None))
    assert _speed.has_twin("features", [])(append) is append
