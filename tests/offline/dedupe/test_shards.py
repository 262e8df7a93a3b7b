"""A job in turns: independent processes that share its output folder."""

import random
from contextlib import suppress

import pytest
from datasets import KilledError, killed_before, tree, write_data_set

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.offline.dedupe import (
    DedupeOptions,
    PausedError,
    ShardTurn,
    TrimOptions,
    dedupe,
    job,
    trim,
)

MERGE = ShardTurn(0, 1)


def turns(run, shares, seed):
    """Run all turns, those of a step in any order, until the job is done."""
    chance = random.Random(seed)
    for _ in range(2):
        order = [*range(1, shares + 1)]
        chance.shuffle(order)
        for share in order:
            with pytest.raises(PausedError):
                run(ShardTurn(share, shares))
        with suppress(PausedError):
            return run(MERGE)
    raise AssertionError("it isn't done")


@pytest.mark.parametrize("shares", [1, 2, 3, 5, 9])
def test_turns_end_as_one_run_does(tmp_path, shares):
    write_data_set(tmp_path / "in", files=5, per_file=30)
    inputs = [str(tmp_path / "in")]
    whole = dedupe(inputs, f"{tmp_path}/whole")
    parts = turns(lambda turn: dedupe(inputs, f"{tmp_path}/parts", turn=turn), shares, shares)
    assert parts == whole
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")
    options = TrimOptions(unit="substrings", number=5)
    cut = trim(inputs, f"{tmp_path}/cut", options)
    output = f"{tmp_path}/turns"
    assert turns(lambda turn: trim(inputs, output, options, turn=turn), shares, 1) == cut
    assert tree(tmp_path / "turns") == tree(tmp_path / "cut")


def test_nobody_goes_on_before_the_others_are_done(tmp_path):
    write_data_set(tmp_path / "in", files=3)
    inputs, output = [str(tmp_path / "in")], str(tmp_path / "out")
    with pytest.raises(PausedError, match="files that have yet to be read"):
        dedupe(inputs, output, turn=ShardTurn(1, 2))
    with pytest.raises(PausedError, match="files that have yet to be read, by --shard: 1"):
        dedupe(inputs, output, turn=MERGE)
    with pytest.raises(PausedError, match="all files are read; --merge is next"):
        dedupe(inputs, output, turn=ShardTurn(2, 2))
    with pytest.raises(ConfigurationError, match="min resemblance"):
        dedupe(inputs, output, DedupeOptions(min_resemblance=0.5), turn=ShardTurn(1, 2))
    summary = dedupe(inputs, output, resume=True)  # one process may do the rest
    assert summary == dedupe(inputs, output, turn=MERGE) == dedupe(inputs, f"{tmp_path}/whole")
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_turn_that_was_killed_is_taken_again(tmp_path, monkeypatch, left):
    write_data_set(tmp_path / "in", files=5)
    inputs, output = [str(tmp_path / "in")], str(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(job, "sketch", killed_before(left, job.sketch))
        with pytest.raises(KilledError):
            dedupe(inputs, output, turn=ShardTurn(1, 1))
    assert turns(lambda turn: dedupe(inputs, output, turn=turn), 2, 0) == dedupe(
        inputs, f"{tmp_path}/whole"
    )
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_the_folder_is_not_another_ones(tmp_path):
    write_data_set(tmp_path / "in", files=1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").touch()
    with pytest.raises(ConfigurationError, match="isn't empty"):
        dedupe([str(tmp_path / "in")], f"{tmp_path}/out", turn=ShardTurn(1, 1))
