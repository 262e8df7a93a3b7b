"""A job that is killed goes on, and comes to the same."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from datasets import KilledError, killed_before, tree, write_data_set

from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.offline.dedupe import DedupeOptions, TrimOptions, dedupe, job, trim
from scrapy_neardup.offline.readers import files

COMMAND = Path(sys.executable).with_name("scrapy-neardup")


@pytest.fixture
def data(tmp_path):
    write_data_set(tmp_path / "in", files=8, per_file=150)
    return tmp_path / "in"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A data set that stays as it is, and what a job makes of it."""
    folder = tmp_path_factory.mktemp("whole")
    write_data_set(folder / "in", files=8, per_file=150)
    dedupe([str(folder / "in")], str(folder / "out"))
    return folder / "in", tree(folder / "out")


def killed(seconds, *arguments):
    """Whether the command was still running when it was killed."""
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("jobs", [2, pytest.param(50, marks=pytest.mark.stress)])
def test_killed_at_random_moments(data, tmp_path, jobs):
    arguments = ["dedupe", data]
    start = time.monotonic()
    subprocess.run([COMMAND, *arguments, "--output", tmp_path / "whole"], check=True)
    whole = time.monotonic() - start
    chance = random.Random(1)
    kills = 0
    for number in range(jobs):
        output = tmp_path / f"out-{number}"
        arguments[1:] = [data, "--output", output, "--resume"]
        # Some are killed twice.
        for _ in range(1 + number % 2):
            kills += killed(whole * chance.random(), *arguments)
        subprocess.run([COMMAND, *arguments], check=True)
        assert tree(output) == tree(tmp_path / "whole")
    assert kills


@pytest.mark.parametrize("step", range(0, 60, 3))
def test_killed_before_any_file(whole, tmp_path, monkeypatch, step):
    """As by a kill in front of each file that is written, one after the other."""
    data, made = whole
    monkeypatch.setattr(files.Path, "replace", killed_before(step, files.Path.replace))
    try:
        dedupe([str(data)], str(tmp_path / "out"))
    except KilledError:
        monkeypatch.undo()
        dedupe([str(data)], str(tmp_path / "out"), resume=True)
    assert tree(tmp_path / "out") == made


def test_a_job_that_is_done_stays(data, tmp_path, caplog):
    first = dedupe([str(data)], str(tmp_path / "out"))
    before = tree(tmp_path / "out")
    assert dedupe([str(data)], str(tmp_path / "out"), resume=True) == first
    assert caplog.messages == [f"{tmp_path}/out: is complete already; nothing was read or written"]
    assert tree(tmp_path / "out") == before
    with pytest.raises(ConfigurationError, match="isn't empty"):
        dedupe([str(data)], str(tmp_path / "out"))


@pytest.fixture
def stopped(data, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(job, "choose", killed_before(0, job.choose))
        with pytest.raises(KilledError):
            dedupe([str(data)], str(tmp_path / "out"))
    return data, str(tmp_path / "out")


def test_a_job_goes_on_only_when_asked_and_with_what_it_was_told(stopped):
    data, output = stopped
    with pytest.raises(ConfigurationError, match="continue it with --resume"):
        dedupe([str(data)], output)
    with pytest.raises(ConfigurationError, match=r"begun with min resemblance 0\.9"):
        dedupe([str(data)], output, DedupeOptions(min_resemblance=0.8), resume=True)
    with pytest.raises(ConfigurationError, match="has a job of another kind"):
        trim([str(data)], output, TrimOptions(unit="lines", number=2), resume=True)
    (data / "part-1.jsonl").write_text('{"text": ""}')
    with pytest.raises(ConfigurationError, match="the inputs are other files or have changed"):
        dedupe([str(data)], output, resume=True)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("where", ["{}/out", "memory://{}"])
def test_a_job_that_has_done_nothing_may_begin_with_other_options(data, tmp_path, where, resume):
    output = where.format(tmp_path)
    with pytest.raises(InputError, match="can't be ranked"):
        dedupe([str(data)], output, DedupeOptions(keep="text"))
    assert dedupe([str(data)], output, resume=resume).documents == 1200


def test_bad_inputs_may_be_left_out_later(data, tmp_path):
    (data / "zz.jsonl").write_text("{no\n")
    output = str(tmp_path / "out")
    with pytest.raises(InputError, match=r"zz.jsonl, line 1: not a line of JSON"):
        dedupe([str(data)], output)
    assert dedupe([str(data)], output, DedupeOptions(skip_bad=True), resume=True).bad_lines == 1


def test_memory_may_be_another(stopped):
    data, output = stopped
    dedupe([str(data)], output, DedupeOptions(memory=1 << 27), resume=True)
    assert json.loads(Path(output, "_summary.json").read_text())["documents"] == 1200
