import json
import re
from contextlib import suppress

import pytest
from audits import Audit, shop
from hostile_audits import hostile_audit, report_of

from scrapy_neardup.crawl.audit import AuditFile
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.errors import InputError
from scrapy_neardup.report.reportpage import text_of
from scrapy_neardup.report.summary import entries
from scrapy_neardup.text import Block, Blocks, Content, Form
from scrapy_neardup.verdict import Decided, Decision, Match, Reason, Verdict


def read(*lines, **options):
    return list(entries(lines, "a.jsonl", **options))


def test_what_a_crawl_writes_is_read(tmp_path):
    audit = AuditFile(str(tmp_path / "a"), with_text=True)
    verdict = Verdict(
        decision=Decision.DUPLICATE, reason=Reason.NEAR, page_id=0xA, fingerprint=0xF,
        match=Match(
            page_id=0xB, distance=2, url="http://h/b", found="features",
            decided=Decided(
                is_same=True, rule="alike", resemblance=0.95, needed=0.9,
                learnt=("changing", "titles"),
            ),
        ),
    )  # fmt: skip
    blocks = Blocks.of([Block("a", Form.CONTENT, 0), Block("text", Form.LINKS, 0)])
    content = Content(title="A page", headings=("One", "Two"), blocks=blocks)
    audit.verdict("http://h/a", Visit(verdict=verdict, action="drop", content=content))
    kept = f"{0xB:016x}"
    audit.event("orphaned", of="http://h/b", of_id=kept, count=1, pages=["http://h/a"])
    difference = "a few words (Köln, Bonn)"
    audit.event("differ", of=None, of_id=kept, difference=difference)
    audit.close()
    with (tmp_path / "a").open("rb") as lines:
        drop, orphaned, differ = entries(lines, "a")
    assert (drop["id"], drop["of_id"], drop["page"]) == (0xA, 0xB, "http://h/a")
    assert (drop["found"], drop["threshold"]) == ("features", 0.9)
    assert (drop["learnt"], drop["headings"]) == (["changing", "titles"], ["One", "Two"])
    assert text_of(drop)["omitted"] == [[2, 6, "links"]]
    assert drop["time"] <= orphaned["time"]
    assert orphaned["pages"] == ["http://h/a"]
    assert (differ["of"], differ["of_id"]) == (None, 0xB)
    assert differ["difference"] == "a few words (Köln, Bonn)"


def test_keys_that_this_version_does_not_know_are_passed_over():
    [line] = (Audit().kept("http://h/a", colour="red"),)
    [entry] = read(json.dumps(line).encode())
    assert entry["colour"] == "red"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "a.jsonl: is empty"),
        ([b"<html>"], "a.jsonl: not an audit, its first line is no JSON object"),
        ([b"\xff\xfe\n"], "a.jsonl: not an audit, its first line is no JSON object"),
        ([b"[" * 100_000], "a.jsonl: not an audit"),
        ([b"[]"], "line 1: not a line of an audit (no JSON object)"),
        ([b'{"a": 1}'], 'line 1: not a line of an audit (no "action")'),
        ([b'{"event": "ended"}'], "(unknown event 'ended')"),
        ([b'{"event": ["begun"]}'], "(unknown event \"['begun']\")"),
        ([b'{"event": "begun"}'], '(no "preset")'),
        ([b'{"event": "differ", "time": "x", "of_id": "1"}'], '(no "difference")'),
        ([b'{"event": "orphaned", "time": "x", "of_id": "1", "count": 1}'], '(no "pages")'),
    ],
)
def test_what_is_no_audit_is_refused(lines, message):
    with pytest.raises(InputError) as error:
        read(*lines)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "unknown verdict 'maybe'"),
        ({"verdict": ["new"]}, '"verdict" is "[\'new\']"'),
        ({"page": 7}, "\"page\" is '7'"),
        ({"resemblance": "high"}, "\"resemblance\" is 'high'"),
        ({"id": "no number"}, "invalid literal"),
        ({"time": "yesterday"}, "yesterday"),
        ({"learnt": {}}, "\"learnt\" is '{}'"),
    ],
)
def test_a_line_of_another_version_is_named(change, message):
    first, second = Audit().kept("http://h/a"), {**Audit().kept("http://h/a"), **change}
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: not a line of an audit") as error:
        read(*(json.dumps(line).encode() for line in (first, second)))
    assert message in str(error.value)


def test_torn_lines_are_left_out_with_a_warning(caplog):
    lines = shop().lines()
    torn = lines[3][:40]
    assert len(read(*lines[:3], torn + b"\n", *lines[3:])) == len(lines)
    assert caplog.messages == ["a.jsonl: left out lines that a crash of the machine cut short: 1"]
    assert len(read(*lines[:3], torn)) == 3
    with pytest.raises(InputError, match="not an audit"):
        read(torn)


def test_hostile_audits_make_a_report_or_an_error():
    """``make stress`` tries more of them."""
    for seed in range(300):
        with suppress(InputError):
            assert "</script><script>alert" not in report_of(hostile_audit(seed))


@pytest.mark.parametrize("resemblance", [1e308, -1, 2, 10**400, float("nan"), float("inf")])
def test_what_can_be_no_resemblance_is_left_out(resemblance):
    audit = Audit()
    audit.drop("http://a/2", audit.kept("http://a/1"), resemblance=resemblance, event=None)
    assert re.search(r"\],\d+,\d+,1,null,null,", report_of(audit.lines()))
