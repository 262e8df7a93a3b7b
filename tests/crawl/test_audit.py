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
from scrapy_neardup.fingerprints.hashing import key_digest
from scrapy_neardup.text import Block, Blocks, Content, Form
from scrapy_neardup.verdict import Decided, Decision, Match, Reason, Verdict

DUPLICATE = Verdict(
    decision=Decision.DUPLICATE, reason=Reason.NEAR, page_id=0xA, fingerprint=0xF, tokens=100,
    match=Match(page_id=0xB, distance=2, url="http://h/b"),
)  # fmt: skip
NEW = Verdict(decision=Decision.NEW, reason=Reason.UNMATCHED, page_id=1, fingerprint=0)


def unpack_text(packed):
    return zlib.decompress(base64.b64decode(packed)).decode()


def write(path, verdict, content=None, *, with_text=False):
    audit = AuditFile(str(path), with_text=with_text)
    visit = pagestate.Visit(verdict=verdict, action="drop", content=content)
    audit.verdict("http://h/a", visit)
    found = lines(path)[-1]  # it is there before the file is closed
    audit.close()
    return found


def test_a_line_says_everything(audit):
    line = write(audit, DUPLICATE)
    assert line.pop("time").startswith("20")
    assert line == {
        "page": "http://h/a", "id": "000000000000000a", "verdict": "duplicate", "reason": "near",
        "rule": None, "action": "drop", "of": "http://h/b", "of_id": "000000000000000b",
        "distance": 2, "resemblance": None, "fingerprint": "000000000000000f", "tokens": 100,
    }  # fmt: skip


def test_a_line_says_how_a_page_was_found_and_what_it_says(audit):
    decided = Decided(True, "alike", resemblance=0.95, needed=0.9, learnt=("changing",))
    match = replace(DUPLICATE.match, found="features", decided=decided)
    forms = {"Äh, text": Form.CONTENT, "next": Form.LINKS, "ad": Form.NAMED}
    blocks = [Block(text, form, path) for path, (text, form) in enumerate(forms.items(), 1)]
    content = Content(title="T" * 1000, headings=("One", "Two"), blocks=Blocks.of(blocks))
    with_text, without = (
        write(audit, replace(DUPLICATE, match=match), content, with_text=wanted)
        for wanted in (True, False)
    )
    assert (with_text["found"], with_text["learnt"]) == ("features", ["changing"])
    assert (with_text["threshold"], with_text["title"]) == (0.9, "T" * 300)
    assert with_text["headings"] == ["One", "Two"]
    said = unpack_text(with_text["text"])
    assert [(said[start:end], why) for start, end, why in with_text["omitted"]] == [
        ("next", "links"), ("ad", "named as boilerplate"),
    ]  # fmt: skip
    assert with_text.keys() - without.keys() == {"text", "paths", "omitted"}
    assert len(unpack_text(with_text["paths"])) == 4 * len(said.splitlines())


def test_the_file_is_appended_to_and_a_torn_line_stays_alone(audit):
    assert write(audit, NEW)["verdict"] == "new"
    with audit.open("a") as file:
        file.write('{"torn')
    audit_file = AuditFile(str(audit))
    audit_file.verdict("http://h/a", pagestate.Visit(verdict=DUPLICATE))
    audit_file.close()
    first, torn, second = audit.read_text().splitlines()
    assert json.loads(first)["verdict"] == "new"
    assert torn == '{"torn'
    assert json.loads(second)["verdict"] == "duplicate"


@given(st.text())
def test_a_text_is_packed_whole(content):
    assert unpack_text(pack_text(content)) == content.encode(errors="replace").decode()


def test_a_text_too_long_is_cut_off():
    noise = "".join(random.Random(0).choices(string.printable + "äöü中文", k=300_000))
    packed = pack_text(noise)
    assert noise.startswith(unpack_text(packed))
    assert MAX_TEXT_BYTES * 0.7 < len(base64.b64decode(packed)) <= MAX_TEXT_BYTES


def test_the_audit_of_a_crawl(crawl, site, audit):
    site.routes["/empty"] = page("")
    for _ in range(2):
        crawl(Visit, "/a/1", "/a/2", "/empty", settings={"NEARDUP_AUDIT": str(audit)})
    found = verdicts(audit)
    told = [(line["page"].removeprefix(site.url), line["verdict"], line["reason"], line["action"])
            for line in found]  # fmt: skip
    assert told == 2 * [
        ("/start.json", "unjudged", "not-html", "keep"), ("/a/1", "new", "unmatched", "keep"),
        ("/a/2", "duplicate", "near", "drop"), ("/empty", "unjudged", "empty", "keep"),
    ]  # fmt: skip
    assert all("text" not in line for line in found)
    said = [found[2][key] for key in ("found", "title", "of")]
    assert said == ["distance", "Title", site.url + "/a/1"]


def test_the_audit_holds_the_judged_text_if_asked(crawl, audit):
    settings = {"NEARDUP_AUDIT": str(audit), "NEARDUP_AUDIT_TEXT": 1}
    assert crawl(Visit, "/a/1", "/a/2", settings=settings).pages("dropped") == [1]
    unread, *read = verdicts(audit)
    assert "text" not in unread
    shown = [unpack_text(line["text"]).split() for line in read]
    assert shown == [text("a", number).replace("<p>", " ").split() for number in (1, 2)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_ends_the_audit_and_not_the_crawl(crawl):
    outcome = crawl(Visit, "/a/1", "/a/2", "/b/1", NEARDUP_AUDIT="/dev/full", errors=True)
    assert outcome.notes == ["/a/1", "/b/1"]
    assert outcome.counted()["audit/errors"] == 1
    assert len(outcome.logged("ERROR")) == 1


def test_each_crawl_begins_with_what_there_is_to_say_of_it(crawl, audit, tmp_path):
    settings = {
        "NEARDUP_AUDIT": str(audit), "NEARDUP_PRESET": "compact", "NEARDUP_DENY": ["/private/"],
        "NEARDUP_HASH_KEY": "secret", "NEARDUP_STORE": f"sqlite:{tmp_path}/pages.sqlite",
    }  # fmt: skip
    for _ in range(2):
        crawl(Visit, "/a/1", settings=settings)
    assert "secret" not in audit.read_text()
    first, *others = lines(audit)
    assert first.pop("time").startswith("20")
    assert first.pop("schema")["hash_key"] == key_digest(b"secret")
    assert first == {
        "event": "begun", "version": __version__, "scrapy": scrapy.__version__,
        "bot": "scrapybot", "spider": "visit", "store": f"sqlite:{tmp_path}/pages.sqlite",
        "preset": "compact",
        "settings": {"NEARDUP_DENY": "['/private/']", "NEARDUP_PRESET": "'compact'"},
    }  # fmt: skip
    assert [line.get("event") for line in others] == [None, None, "begun", None, None]
