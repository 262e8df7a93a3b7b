import gzip
from pathlib import Path

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


def test_crawls_that_were_appended_to_one_audit_are_counted(call, tmp_path):
    audit = shop(products=3, copies=4)
    audit.begun()
    assert call("report", audit.write(tmp_path / "one.jsonl").name).stderr.startswith("16 pages: ")
    audit.begun()
    said = call("report", audit.write(tmp_path / "two.jsonl").name).stderr
    assert said.startswith("2 crawls, 16 pages: 12 repeat another")


def test_several_audits_packed_or_not_are_counted_together(call, tmp_path):
    shop(products=1, copies=1).write(tmp_path / "one.jsonl")
    Path("two.jsonl.gz").write_bytes(gzip.compress(b"".join(shop(products=2).lines())))
    result = call("report", "one.jsonl", "two.jsonl.gz", "--output", "-")
    assert result.stderr.startswith("14 pages: ")
    assert "one.jsonl" in result.stdout
    assert "The report is in" not in result.stderr
