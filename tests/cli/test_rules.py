"""`scrapy-neardup rules`: from audits to rules, in four formats."""

import asyncio
import json

import pytest
from audits import Audit
from redis_servers import shared_server

from scrapy_neardup.dust.host import Host
from scrapy_neardup.dust.urlparts import Parts
from scrapy_neardup.stores import open_store

SITE = "https://example.com"


@pytest.fixture
def audit(tmp_path):
    made = Audit()
    for number in range(12):
        kept = made.kept(f"{SITE}/p/{number}")
        made.drop(f"{SITE}/p/{number}?sid=\x1b{number}", kept)
    made.write(tmp_path / "audit.jsonl")


@pytest.mark.usefixtures("audit")
def test_rules_are_printed_with_a_pair_and_without_control_characters(call):
    lines = call("rules", "audit.jsonl").stdout.splitlines()
    assert lines[0] == "1 rule would have saved 12 of 24 pages."
    assert lines[3] == "       12  ?sid=… has no effect (12 confirm it)"
    assert lines[4].strip() == rf"{SITE}/p/0?sid=\x1b0 shows {SITE}/p/0"


def test_each_host_is_named_once_whatever_its_rules_save(call, tmp_path):
    made = Audit()
    for name, host, pages in (("sid", "a", 30), ("ref", "b", 20), ("utm_id", "a", 10)):
        for number in range(pages):
            url = f"https://{host}.test/{name}/{number}"
            made.drop(f"{url}?{name}={number}", made.kept(url))
    made.write(tmp_path / "audit.jsonl")
    lines = call("rules", "audit.jsonl").stdout.splitlines()
    assert [line for line in lines if line.endswith(".test")] == ["a.test", "b.test"]
    assert sum("has no effect" in line for line in lines) == 3


@pytest.mark.usefixtures("audit")
def test_rules_for_other_programs(call):
    found, dud, deny = (
        json.loads(call("rules", "audit.jsonl", "--format", form).stdout)
        for form in ("json", "dud", "deny")
    )
    [rule] = found["rules"]
    assert (found["pages"], found["saved"]) == (24, 12)
    assert (rule["host"], rule["kind"], rule["what"]) == ("example.com", "parameter", "sid")
    assert rule["holds"]
    assert "queryRemoval" in json.dumps(dud)
    assert "sid" in json.dumps(deny)


@pytest.mark.usefixtures("audit")
def test_the_report_has_the_same_rules(call, tmp_path):
    call("report", "audit.jsonl")
    page = (tmp_path / "report.html").read_text()
    start = page.index("{", page.index('id="summary"'))
    rules = json.loads(page[start : page.index("</script>", start)])["addressRules"]
    assert (rules["saved"], rules["pages"], rules["count"]) == (12, 24, 1)
    pair = [f"{SITE}/p/0?sid=\x1b0", f"{SITE}/p/0"]
    assert rules["rules"] == [["example.com", "?sid=… has no effect", 12, pair]]


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_rules_of_a_store_are_those_that_its_crawlers_have_posted(call, tmp_path, kind):
    uri = f"sqlite:{tmp_path}/s.db" if kind == "sqlite" else shared_server().uri
    host = Host()
    for number in range(12):
        for content, url in ((number, f"{SITE}/p/{number}"), (number, f"{SITE}/p/{number}?sid=1")):
            host.learn(Parts.of(url), content, is_new="?" not in url)

    async def post():
        async with open_store(uri, namespace=f"rules {kind}") as store:
            await store.exchange("urls example.com", "me", host.dump())
            await store.exchange("urls example.com of a job", "state", host.state())
            await store.exchange("//other.example", "me", b"of something else")

    asyncio.run(post())
    asked = ["rules", uri, "--namespace", f"rules {kind}"]
    assert call(*asked).stdout.splitlines() == [
        "1 rule holds.", "", "example.com", f"{'':11}?sid=… has no effect (12 confirm it)",
        f"{'':11}{SITE}/p/0?sid=1 shows {SITE}/p/0",
    ]  # fmt: skip
    assert "queryRemoval" in call(*asked, "--format", "dud").stdout
    assert "name one of" in call(*asked[:-1], "another", status=2).stderr
