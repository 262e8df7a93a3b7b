"""Where results go, and that they replace nothing that is read."""

import errno
import json
import os
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from datasets import json_lines, write_data_set

from scrapy_neardup.cli import common
from scrapy_neardup.offline import execution
from scrapy_neardup.offline.dedupe import choosing
from scrapy_neardup.offline.files import storedpages
from scrapy_neardup.offline.jobs import joining

LONG = " ".join(map(str, range(99)))
PAGES = [{"url": f"http://a.test/{n}", "text": text} for n, text in enumerate([LONG, "", LONG])]


@pytest.fixture
def pages(tmp_path):
    path = tmp_path / "pages.jsonl"
    path.write_text(json_lines(PAGES))
    return path


@pytest.mark.parametrize(
    "verb",
    ["scan pages.jsonl", "join pages.jsonl", "clusters pages.jsonl",
     "query --like a --in pages.jsonl", "pairs pages.jsonl", "pairs x --existing pages.jsonl",
     "pack pages.jsonl", "unpack pages.jsonl", "changes pages.jsonl x", "report pages.jsonl",
     "rules pages.jsonl", "clusters --pairs pages.jsonl"],
)  # fmt: skip
@pytest.mark.parametrize("output", ["pages.jsonl", "../{}/pages.jsonl", "link"])
def test_an_input_is_not_replaced(call, tmp_path, pages, verb, output):
    (tmp_path / "link").symlink_to(pages)
    target = output.format(tmp_path.name)
    result = call(*verb.split(), "--output", target, status=2)
    assert result.stderr == f"Error: --output: {target} is an input, too\n"
    assert pages.read_text() == json_lines(PAGES)


@pytest.mark.parametrize("name", ["x" * 255, "\u03b1" * 127, "\U0001f600" * 63])
def test_an_output_may_have_a_name_as_long_as_file_systems_allow(call, tmp_path, pages, name):
    call("scan", pages, "--output", name)
    assert len((tmp_path / name).read_text().splitlines()) == len(PAGES)


def test_fingerprints_that_scan_wrote_as_parquet(call, tmp_path, pages):
    (tmp_path / "none.jsonl").write_text(json_lines([{"text": ""}]))
    call("scan", "none.jsonl", "--output", "none.parquet")
    assert call("pairs", "none.parquet").stdout == ""
    for name in ("x.jsonl", "x.parquet"):
        call("scan", pages, "--output", name)
        call("pack", name, "--output", f"{name}.pack")
    assert (tmp_path / "x.jsonl.pack").read_bytes() == (tmp_path / "x.parquet.pack").read_bytes()
    found = json.loads(call("pairs", "x.parquet").stdout)
    assert found == {"a": "http://a.test/0", "b": "http://a.test/2", "distance": 0}
    assert len(call("pairs", "x.jsonl", "--existing", "x.parquet").stdout.splitlines()) == 4


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(("command", "module"), [
    ("join pages.jsonl", joining), ("clusters pages.jsonl", joining),
    ("pack scan.jsonl", storedpages), ("scan pages.jsonl", common),
])  # fmt: skip
def test_a_disk_without_room_for_temporary_files_is_named(call, monkeypatch, command, module):
    call("scan", "pages.jsonl", "--output", "scan.jsonl")
    made = []

    def full():
        made.append(open("/dev/full", "wb"))  # noqa: PTH123, SIM115  (closed by what is tested)
        return made[-1]

    monkeypatch.setattr(module, "TemporaryFile", full)
    result = call(*command.split(), "--output", "out.parquet", status=2)
    why = "can't be written: No space left on device; TMPDIR names another folder"
    assert result.stderr == f"Error: {tempfile.gettempdir()}: {why} for temporary files\n"
    assert all(file.closed for file in made)


def test_temporary_files_of_jobs_that_can_not_be_written(call, monkeypatch, tmp_path):
    write_data_set(tmp_path / "in")
    with monkeypatch.context() as patch:
        patch.setattr(execution, "TemporaryDirectory", lambda **_: nullcontext("/dev/null"))
        said = call("join", "in", "--jobs", 2, "--output", "out", status=2).stderr
        assert said.startswith(f"Error: {tempfile.gettempdir()}: can't be written: Not a dir")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(choosing, "components", full)
    said = call("dedupe", "in", "--output", "out", status=2).stderr
    assert said == "Error: out: can't be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", ["--help", "--version", "scan --help"])
def test_help_that_can_not_be_written(start, arguments):
    with Path("/dev/full").open("wb") as full:
        process = start(*arguments.split(), stdout=full)
    assert process.communicate(timeout=60)[1] == "Error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(("stream", "arguments", "said"), [
    (0, "scan -", "-: can't be read: standard input is closed"),
    (0, "unpack -", "-: can't be read: standard input is closed"),
    (1, "scan pages.jsonl", "standard output is closed; --output names a file"),
    (2, "scan pages.jsonl", ""),
    (1, "scan pages.jsonl --output x.jsonl", ""),
])  # fmt: skip
def test_a_stream_may_be_closed(start, tmp_path, stream, arguments, said):
    """As by `>&-` in a shell."""
    (tmp_path / "pages.jsonl").write_text('{"text": "a b c"}\n')
    process = start(*arguments.split(), preexec_fn=partial(os.close, stream))
    assert said in process.communicate(timeout=60)[1]
    assert process.returncode == (2 if said else 0)
