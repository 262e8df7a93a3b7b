"""``scrapy-neardup dedupe`` from the command line; tests/offline/dedupe tests what it does."""

import json

import pytest
from datasets import write_data_set, write_lines


@pytest.fixture
def data(tmp_path):
    return write_data_set(tmp_path / "in")


def test_a_folder_without_its_duplicates(call, data, tmp_path):
    result = call("dedupe", "in", "--output", "out", "--id-column", "id", "--progress")
    summary = json.loads(result.stdout)
    assert summary["kept"] + summary["equal"] + summary["similar"] == len(data)
    assert summary["documents"] == len(data)
    assert "180 documents, " in result.stderr
    assert json.loads((tmp_path / "out/_summary.json").read_text()) == summary
    line = (tmp_path / "out/_removed/part-1.jsonl.jsonl").read_text().splitlines()[0]
    assert list(json.loads(line)) == [
        "id", "row", "of", "of_file", "of_row", "resemblance", "reason"
    ]  # fmt: skip


def test_options(call, data, tmp_path):
    call(
        "dedupe", "in", "--output", "out", "--features", "6,8,1",
        "--keep", "newest:metadata.date", "--min-resemblance", 0.8, "--memory", "200MB",
    )  # fmt: skip
    call("dedupe", "in", "--output", "more", "--existing", "out")
    summary = json.loads((tmp_path / "more/_summary.json").read_text())
    assert summary["kept"] < 60 < summary["existing"]


def test_parts_of_texts(call, tmp_path):
    write_lines(tmp_path / "x.jsonl", [{"body": f"menu\n{letter}"} for letter in "abc"])
    result = call("dedupe", "x.jsonl", "--output", "out", "--lines", 2, "--text-column", "body")
    assert json.loads(result.stdout)["trimmed"] == 3
    assert json.loads((tmp_path / "out/x.jsonl").read_text().splitlines()[0]) == {"body": "a"}


@pytest.mark.usefixtures("data")
def test_a_job_in_turns(call):
    steps = [("--shard", "1/2"), ("--shard", "2/2"), ("--merge",)] * 2
    printed = [json.loads(call("dedupe", "in", "--output", "out", *step).stdout) for step in steps]
    assert all("paused" in line for line in printed[:-1])
    assert printed[-1]["documents"] == 180
