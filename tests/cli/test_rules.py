"""`scrapy-neardup rules`: the claims of audits and of stores, in four formats."""

import asyncio
import json

import pytest
from audits import START, Audit
from redis_servers import shared_server

from scrapy_neardup.claims.claim import NEEDED
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import PARAMETER, Part
from scrapy_neardup.claims.urlparts import Parts
from scrapy_neardup.cli.report import write_report
from scrapy_neardup.stores import open_store

SITE = "https://example.com"
PAIR = [f"{SITE}/p/0?sid=\x1b0", f"{SITE}/p/0"]


def claimed(**more):
    return {
        "time": START.isoformat(), "event": "claim", "host": "example.com", "place": "/p/N",
        "part": list(Part(PARAMETER, "sid")), "claim": "?sid=… has no effect on /p/N",
        "streak": 60, "ended": 0, "covered": 12, "withheld": 9, "checks": 40, "example": PAIR,
        "counter": None,
    } | more  # fmt: skip


@pytest.fixture
def audit(tmp_path):
    made = Audit()
    for number in range(12):
        kept = made.kept(f"{SITE}/p/{number}")
        made.drop(f"{SITE}/p/{number}?sid=\x1b{number}", kept)
    made.entries.append(claimed())
    made.write(tmp_path / "audit.jsonl")
    return made


@pytest.mark.usefixtures("audit")
def test_claims_are_printed_with_a_pair_and_without_control_characters(call):
    lines = call("rules", "audit.jsonl").stdout.splitlines()
    assert lines == [
        "Under 1 claim 9 requests weren't made.", "", "example.com",
        f"       12 covered, 9 not made: {claimed()['claim']} (40 tested it: at most 7.5% differ)",
        rf"           {SITE}/p/0?sid=\x1b0 shows {SITE}/p/0",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["text", "dud", "deny"])
def test_names_that_are_no_unicode(call, tmp_path, form):
    line = claimed(host="\ud800.test", part=list(Part(PARAMETER, "\ud800é")))
    (tmp_path / "audit.jsonl").write_text(json.dumps(line))
    assert "ud800" in call("rules", "audit.jsonl", "--format", form).stdout


def test_each_host_is_named_once_whatever_its_claims_cover(call, tmp_path):
    made = Audit()
    for name, host, covered in (("sid", "a", 30), ("ref", "b", 20), ("utm_id", "a", 10)):
        part = list(Part(PARAMETER, name))
        made.entries.append(claimed(host=f"{host}.test", part=part, covered=covered))
    made.write(tmp_path / "audit.jsonl")
    lines = call("rules", "audit.jsonl").stdout.splitlines()
    assert [line for line in lines if line.endswith(".test")] == ["a.test", "b.test"]
    assert sum("has no effect" in line for line in lines) == 3


@pytest.mark.usefixtures("audit")
def test_claims_for_other_programs(call):
    dud, deny = (
        json.loads(call("rules", "audit.jsonl", "--format", form).stdout)
        for form in ("dud", "deny")
    )
    assert "queryRemoval" in json.dumps(dud)
    assert "sid" in json.dumps(deny)


def test_a_page_that_was_met_by_such_an_address_alone_is_not_denied(call, audit, tmp_path):
    audit.kept(f"{SITE}/p/99?sid=1")
    audit.write(tmp_path / "audit.jsonl")
    done = call("rules", "audit.jsonl", "--format", "deny")
    assert json.loads(done.stdout) == []
    assert "some pages were found only under such addresses" in done.stderr


def test_new_pages_that_the_rules_leave_out_are_counted(call, audit, tmp_path):
    """They may be exceptions, which a user of the rules would never see."""
    for address in ("/p/20", "/p/20?sid=\x1b7"):
        audit.kept(SITE + address)
    audit.write(tmp_path / "audit.jsonl")
    for form in ("dud", "deny"):
        said = call("rules", "audit.jsonl", "--format", form).stderr
        assert said.startswith("These rules leave out 1 new page of the crawl, such as")
        assert said.endswith(r"/p/20?sid=\x1b7" "\n")


def test_what_a_format_cannot_express_is_said(call, audit, tmp_path):
    audit.entries.append(claimed(part=list(Part("case"))))
    audit.write(tmp_path / "audit.jsonl")
    for form, program in (("dud", "duplicate-url-discarder"), ("deny", "regular expressions")):
        done = call("rules", "audit.jsonl", "--format", form)
        assert f"Left out, because {program} can't express it: example.com: upper" in done.stderr


def test_a_crawl_without_claims_has_none(call, tmp_path):
    made = Audit()
    made.kept(f"{SITE}/p/1")
    made.write(tmp_path / "audit.jsonl")
    [line] = call("rules", "audit.jsonl").stdout.splitlines()
    assert line == "Under 0 claims 0 requests needn't have been made."


@pytest.mark.usefixtures("audit")
def test_the_report_has_the_same_claims(call, tmp_path):
    call("report", "audit.jsonl")
    page = (tmp_path / "report.html").read_text()
    assert call("rules", "audit.jsonl").stdout.splitlines()[0].replace("'", "&#x27;") in page
    assert "?sid=… has no effect on /p/N" in page
    assert f'href="{PAIR[1]}"' in page
    digest = write_report(["audit.jsonl"], "again.html").digest()
    assert "       12 covered, 9 not made: example.com ?sid=… has no effect on /p/N" in digest


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_claims_of_a_store_are_those_that_its_crawlers_have_posted(call, tmp_path, kind):
    uri = f"sqlite:{tmp_path}/s.db" if kind == "sqlite" else shared_server().uri
    host = Host()
    for number in range(NEEDED + 30):
        plain, variant = f"{SITE}/p/{number}", f"{SITE}/p/{number}?sid=1"
        host.learn(Parts.of(plain), number, is_new=True)
        host.learn(Parts.of(variant), number, is_new=False, match=Parts.of(plain))

    async def post():
        async with open_store(uri, namespace=f"rules {kind}") as store:
            await store.exchange("urls example.com", "me", host.claims.dump())
            await store.exchange("urls example.com of a job", "state", host.claims.dump())
            await store.exchange("//other.example", "me", b"of something else")

    asyncio.run(post())
    asked = ["rules", uri, "--namespace", f"rules {kind}"]
    lines = call(*asked).stdout.splitlines()
    assert lines[2] == "example.com"
    assert "?sid=… has no effect on /p/N (30 tested it: at most 10.0% differ)" in lines[3]
    assert lines[4].strip() == f"{SITE}/p/0?sid=1 shows {SITE}/p/0"
    assert len(lines) == 5
    assert "queryRemoval" in call(*asked, "--format", "dud").stdout
    assert "name one of" in call(*asked[:-1], "another", status=2).stderr
