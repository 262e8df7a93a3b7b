import base64
import json
import random
import string
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
import scrapy
from audits import lines, verdicts
from crawl_spiders import Visit
from hypothesis import given
from hypothesis import strategies as st
from site_server import page, text

from scrapy_neardup import __version__
from scrapy_neardup.crawl import pagestate
from scrapy_neardup.crawl.audit import MAX_TEXT_BYTES, AuditFile, pack_text
from scrapy_neardup.text import Block, Content, Form
from scrapy_neardup.verdict import Decided, Decision, Match, Reason, Verdict

DUPLICATE = Verdict(
    decision=Decision.DUPLICATE,
    reason=Reason.NEAR,
    page_id=0xA,
    fingerprint=0xF,
    tokens=100,
    match=Match(page_id=0xB, distance=2, url="http://h/b"),
)
NEW = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1, fingerprint=0)


def unpack_text(packed):
    return zlib.decompress(base64.b64decode(packed)).decode()


def write(path, *verdicts, content=None, with_text=False):
    audit = AuditFile(str(path), with_text=with_text)
    for verdict in verdicts:
        audit.verdict(
            "http://h/a", pagestate.Visit(verdict=verdict, action="drop", content=content)
        )
    audit.close()


def test_a_line_says_everything(tmp_path):
    write(tmp_path / "a", DUPLICATE)
    [line] = lines(tmp_path / "a")
    assert line.pop("time").startswith("20")
    assert line == {
        "page": "http://h/a", "id": "000000000000000a", "verdict": "duplicate", "reason": "near",
        "rule": None, "action": "drop", "of": "http://h/b", "of_id": "000000000000000b",
        "distance": 2, "resemblance": None, "fingerprint": "000000000000000f", "tokens": 100,
    }  # fmt: skip


def test_a_line_says_how_a_page_was_found_and_what_it_says(tmp_path):
    decided = Decided(True, "alike", resemblance=0.95, needed=0.9, learnt=("changing",))
    match = replace(DUPLICATE.match, found="features", decided=decided)
    verdict = replace(DUPLICATE, match=match)
    blocks = [
        Block("Äh, text", Form.CONTENT, 1),
        Block("next", Form.LINKS, 2),
        Block("ad", Form.NAMED, 3),
    ]
    content = Content(title="T" * 1000, headings=("One", "Two"), blocks=blocks)
    write(tmp_path / "a", verdict, content=content, with_text=True)
    write(tmp_path / "a", verdict, content=content)
    with_text, without = lines(tmp_path / "a")
    assert (with_text["found"], with_text["learnt"]) == ("features", ["changing"])
    assert (with_text["threshold"], with_text["title"]) == (0.9, "T" * 300)
    assert with_text["headings"] == ["One", "Two"]
    said = unpack_text(with_text["text"])
    assert [(said[start:end], why) for start, end, why in with_text["omitted"]] == [
        ("next", "links"), ("ad", "named as boilerplate"),
    ]  # fmt: skip
    assert with_text.keys() - without.keys() == {"text", "paths", "omitted"}
    assert len(unpack_text(with_text["paths"])) == 4 * len(said.splitlines())


def test_the_file_is_appended_to_and_a_torn_line_stays_alone(tmp_path):
    path = tmp_path / "a"
    write(path, NEW)
    with path.open("a") as file:
        file.write('{"torn')
    write(path, DUPLICATE)
    first, torn, second = path.read_text().splitlines()
    assert json.loads(first)["verdict"] == "new"
    assert torn == '{"torn'
    assert json.loads(second)["verdict"] == "duplicate"


def test_nothing_is_lost_without_closing(tmp_path):
    audit = AuditFile(str(tmp_path / "a"))
    audit.verdict("http://h/a", pagestate.Visit(verdict=NEW))
    assert len(lines(tmp_path / "a")) == 1
    audit.close()


@given(st.text())
def test_a_text_is_packed_whole(content):
    assert unpack_text(pack_text(content)) == content.encode(errors="replace").decode()


def test_a_text_too_long_is_cut_off():
    noise = "".join(random.Random(0).choices(string.printable + "äöü中文", k=300_000))
    packed = pack_text(noise)
    assert noise.startswith(unpack_text(packed))
    assert MAX_TEXT_BYTES * 0.7 < len(base64.b64decode(packed)) <= MAX_TEXT_BYTES


def test_the_audit_of_a_crawl(crawl, site, tmp_path):
    path = tmp_path / "audit.jsonl"
    site.routes["/empty"] = page("")
    paths = "/a/1", "/a/2", "/empty"
    for _ in range(2):
        crawl(Visit, *paths, settings={"NEARDUP_AUDIT": str(path)})
    told = [(line["page"].removeprefix(site.url), line["verdict"], line["reason"], line["action"])
            for line in verdicts(path)]  # fmt: skip
    assert told == 2 * [
        ("/start.json", "unjudged", "not-html", "keep"), ("/a/1", "new", "unmatched", "keep"),
        ("/a/2", "duplicate", "near", "drop"), ("/empty", "unjudged", "empty", "keep"),
    ]  # fmt: skip
    assert all("text" not in line for line in verdicts(path))
    assert verdicts(path)[2]["found"] == "distance"
    assert verdicts(path)[2]["title"] == "Title"
    assert verdicts(path)[2]["of"] == site.url + "/a/1"


def test_the_audit_holds_the_judged_text_if_asked(crawl, tmp_path):
    path = tmp_path / "audit.jsonl"
    settings = {"NEARDUP_AUDIT": str(path), "NEARDUP_AUDIT_TEXT": 1}
    assert crawl(Visit, "/a/1", "/a/2", settings=settings).counted()["pages/dropped"] == 1
    unread, *read = verdicts(path)
    assert "text" not in unread
    shown = [unpack_text(line["text"]).split() for line in read]
    assert shown == [text("a", number).replace("<p>", " ").split() for number in (1, 2)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_ends_the_audit_and_not_the_crawl(crawl):
    settings = {"NEARDUP_AUDIT": "/dev/full"}
    outcome = crawl(Visit, "/a/1", "/a/2", "/b/1", settings=settings, errors=True)
    assert outcome.notes == ["/a/1", "/b/1"]
    assert outcome.counted()["audit/errors"] == 1
    assert len(outcome.logged("ERROR")) == 1


def test_each_crawl_begins_with_what_there_is_to_say_of_it(crawl, tmp_path):
    path = tmp_path / "audit.jsonl"
    settings = {
        "NEARDUP_AUDIT": str(path), "NEARDUP_PRESET": "compact", "NEARDUP_DENY": ["/private/"],
        "NEARDUP_HASH_KEY": "secret", "NEARDUP_STORE": f"sqlite:{tmp_path}/pages.sqlite",
    }  # fmt: skip
    for _ in range(2):
        crawl(Visit, "/a/1", settings=settings)
    assert "secret" not in path.read_text()
    first, *others = lines(path)
    assert first.pop("time").startswith("20")
    assert first == {
        "event": "begun", "version": __version__, "scrapy": scrapy.__version__,
        "bot": "scrapybot", "spider": "visit", "store": f"sqlite:{tmp_path}/pages.sqlite",
        "preset": "compact",
        "settings": {"NEARDUP_DENY": "['/private/']", "NEARDUP_PRESET": "'compact'"},
    }  # fmt: skip
    assert [line.get("event") for line in others] == [None, None, "begun", None, None]
