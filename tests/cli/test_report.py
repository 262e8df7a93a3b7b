import gzip
from pathlib import Path

import pytest
from audits import shop


def test_a_report_is_written_and_says_where(call, tmp_path):
    shop(products=3, copies=4).write(tmp_path / "audit.jsonl")
    result = call("report", "audit.jsonl")
    assert result.stdout == ""
    assert result.stderr == (
        "16 pages: 12 repeat another (75.0%), 1 not judged\nThe report is in report.html\n"
    )
    assert Path("report.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.jsonl", "report.html"]


def test_several_audits_packed_or_not_are_counted_together(call, tmp_path):
    shop(products=1, copies=1).write(tmp_path / "one.jsonl")
    Path("two.jsonl.gz").write_bytes(gzip.compress(b"".join(shop(products=2).lines())))
    result = call("report", "one.jsonl", "two.jsonl.gz", "--output", "-")
    assert result.stderr.startswith("14 pages: ")
    assert "one.jsonl" in result.stdout
    assert "The report is in" not in result.stderr


@pytest.mark.parametrize(("content", "message"), [
    (b"\x00\x01\x02", "bad.jsonl: not an audit"),
    (gzip.compress(b"".join(shop().lines()))[:-9], "bad.jsonl: its compressed data ends too"),
    (None, "bad.jsonl: can't be read: No such file"),
])  # fmt: skip
def test_what_is_no_audit_is_named_and_nothing_is_written(call, tmp_path, content, message):
    shop().write(tmp_path / "good.jsonl")
    Path("report.html").write_text("before")
    if content is not None:
        Path("bad.jsonl").write_bytes(content)
    assert message in call("report", "good.jsonl", "bad.jsonl", status=2).stderr
    assert Path("report.html").read_text() == "before"
    assert {path.name for path in Path().iterdir()} <= {"bad.jsonl", "good.jsonl", "report.html"}


def test_a_torn_line_is_left_out(call, tmp_path, caplog):
    Path("torn.jsonl").write_bytes(b"".join(shop().lines())[:-9])
    assert call("report", "torn.jsonl").stderr.startswith("15 pages: ")
    assert caplog.messages == [
        "torn.jsonl: lines that a crash of the machine has cut, left out: 1"
    ]
