"""`scrapy-neardup changes`: two audits, or two scans, page by page."""

import gzip
import json
from pathlib import Path

from audits import Audit


def audit(path, **texts):
    made = Audit()
    for name, text in texts.items():
        made.kept(f"https://example.com/{name}", text=text)
    return made.write(path)


def test_changes_are_json_lines(call, tmp_path):
    audit(tmp_path / "old.jsonl", same="a\nb", other="a\nb\nc", gone="x")
    new = audit(tmp_path / "new.jsonl", same="a\nb", other="a\nB\nc", fresh="y")
    Path("new.gz").write_bytes(gzip.compress(new.read_bytes()))
    for name in ("new.jsonl", "new.gz"):
        result = call("changes", "old.jsonl", name)
        found = {line["page"][20:]: line for line in map(json.loads, result.stdout.splitlines())}
        assert found.keys() == {"fresh", "other", "gone"}
        assert found["other"]["added"] == ["B"]
        assert found["other"]["removed"] == ["b"]
        assert result.stderr == "Pages: 1 new, 1 gone, 1 changed, 1 unchanged\n"


def test_scans_are_compared_by_fingerprints(call):
    for name, fingerprint in (("old", "1"), ("new", "2")):
        Path(name).write_text(json.dumps({"page": "a", "fingerprint": fingerprint}) + "\n")
    result = call("changes", "old", "new")
    assert json.loads(result.stdout) == {"page": "a", "change": "changed"}
    assert "only fingerprints could be compared" in result.stderr


def test_what_is_neither_is_named(call):
    Path("old").write_text("[]\n")
    assert "old, line 1: neither" in call("changes", "old", "old", status=2).stderr
