"""Which of two twins does the work."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from scrapy_neardup import _speed


def double(value):
    return 2 * value


def compiled_as(monkeypatch, twin):
    monkeypatch.setattr(_speed, "load", lambda name: SimpleNamespace(double=twin))


def test_a_twin_that_agrees_is_taken(monkeypatch):
    twin = lambda value: value + value
    compiled_as(monkeypatch, twin)
    assert _speed.has_twin("features", 21)(double) is twin


@pytest.mark.parametrize(
    "twin",
    [lambda value: value, float, lambda value: (2 * value,), lambda value, more: value, None],
)
def test_a_twin_that_differs_is_refused_with_one_line(monkeypatch, caplog, twin):
    compiled_as(monkeypatch, twin)
    assert _speed.has_twin("features", 21)(double) is double
    (line,) = caplog.messages
    assert line.startswith("scrapy-neardup runs features.double in pure Python: ")


def test_without_the_module_there_is_nothing_to_say(monkeypatch, caplog):
    monkeypatch.setattr(_speed, "load", lambda name: None)
    assert _speed.has_twin("features", 21)(double) is double
    assert not caplog.messages


def test_a_module_that_does_not_load_is_refused(monkeypatch, caplog):
    def fail(name):
        raise ImportError("made for another lxml")

    monkeypatch.setattr(_speed, "IS_PURE", False)
    monkeypatch.setattr(_speed, "import_module", fail)
    assert _speed.load("features") is None
    assert "made for another lxml" in caplog.text


def test_equal_results_are_equal_in_type_too():
    a = np.arange(3, dtype=np.uint64)
    assert _speed.same((a, 1), (a.copy(), 1))
    assert not _speed.same((a, 1), (a.astype(np.int64), 1))
    assert not _speed.same((a, 1), (a[:2], 1))
    assert not _speed.same(1, True)


def test_the_command_says_which_way_the_package_runs():
    command = [sys.executable, "-m", "scrapy_neardup._speed"]
    pure = {**os.environ, "NEARDUP_PURE": "1"}
    said = subprocess.run(command, env=pure, capture_output=True, text=True, check=True).stdout
    assert said.startswith("scrapy-neardup runs in pure Python (NEARDUP_PURE=1)")
    asked = subprocess.run([*command, "--all"], env=pure, capture_output=True, check=False)
    assert asked.returncode == 1


def test_what_a_twin_does_to_its_arguments_counts(monkeypatch):
    def append(values):
        values.append(np.arange(2))

    monkeypatch.setattr(_speed, "load", lambda name: SimpleNamespace(append=lambda values: None))
    assert _speed.has_twin("features", [])(append) is append
