import random
from dataclasses import replace

import numpy as np
import pytest
from audits import Audit, shop
from datasets import write_lines

from scrapy_neardup.cli.tune import _headline, _warnings
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.tuning import Configuration, Measured, Outcome, Share, chosen


@pytest.fixture
def articles(tmp_path):
    """JSON lines with ten articles, three times each."""
    words = random.Random(3)
    pages = []
    for number in range(10):
        article = [f"word{words.randrange(5000)}" for _ in range(200)]
        for copy in range(3):
            text = " ".join([*article, f"copy{copy}"])
            pages.append({"url": f"http://a.example/{number}?sid={copy}", "text": text})
    write_lines(tmp_path / "articles.jsonl", pages)
    return "articles.jsonl"


def test_settings_are_measured_and_chosen(call, articles):
    result = call("tune", articles, "--progress")
    first, _, _, default, *rest = result.stdout.splitlines()
    assert first == "30 pages: 20 duplicates in 10 groups"
    assert default.split() == [
        "*", "NEARDUP_PRESET", "best", *["1.000", "(0.722-1.000)"] * 2, "20", "0",
    ]  # fmt: skip
    assert {line.split()[0] for line in rest[:13]} == {
        "NEARDUP_PRESET", "k", "NEARDUP_MIN_RESEMBLANCE", "NEARDUP_TITLES",
    }  # fmt: skip
    assert "Keep the defaults: no other setting is clearly better here." in rest


def test_pages_that_differ_in_little_are_named(call, tmp_path):
    words = random.Random(3)
    text = " ".join(f"word{words.randrange(5000)}" for _ in range(300))
    towns = ["Berlin", "Munich", "Hamburg", "Bonn", "Essen"]
    pages = [{"url": f"http://a.example/jobs/{t}", "text": f"{text}\nin {t}"} for t in towns]
    write_lines(tmp_path / "ads.jsonl", pages)
    said = call("tune", "ads.jsonl").stdout
    assert (
        "Worth a look: 4 pages that repeat http://a.example/jobs/Berlin differ in a few words"
        " (Munich, Hamburg, Bonn). If they are different pages to you, set NEARDUP_PRESET ="
        ' "exact".\n'
    ) in said


def test_one_drop_in_ten_that_loses_content_is_said_whatever_is_chosen():
    share = Share(0.9, 0.8, 1.0)
    default = Outcome(
        configuration=Configuration(("NEARDUP_PRESET", "best"), {}, Parameters()),
        precision=share, recall=share, dropped=100, lost=10, matches=np.full(3, -1),
        differences={},
    )  # fmt: skip
    other = replace(default, configuration=replace(default.configuration, settings={"x": 1}))
    outcomes = [default, other]
    measured = Measured(names=[], truth=None, outcomes=outcomes)
    assert chosen(outcomes) is default
    assert _headline(default) == "The defaults lose content here"
    for choice in (default, other):
        [warning] = _warnings(measured, choice)
        assert warning.startswith("10 of 100 drops lose content. NEARDUP_DENY names")
    named = {1: "numbers (1, 2)"}
    little = replace(default, lost=1, differences=named)
    assert _headline(little).startswith("Keep the defaults if pages that differ only a")
    harmless = replace(default, lost=1)
    assert _headline(harmless) == "Keep the defaults"
    assert _warnings(measured, harmless) == []


def test_an_audit_with_texts_can_be_tuned_on(call, tmp_path):
    shop(products=5, copies=3).write(tmp_path / "audit.jsonl")
    said = call("tune", "--audit", "audit.jsonl").stdout
    assert "20 pages: 15 duplicates in 5 groups" in said


def test_an_audit_may_have_been_edited(call, tmp_path):
    audit = shop(products=5, copies=3)
    audit.begun()
    audit.entries[-1] |= {"verdict": "new", "text": "", "headings": [5]}
    audit.entries[1]["headings"] = [5, None]
    audit.write(tmp_path / "audit.jsonl")
    assert "20 pages: 15 duplicates" in call("tune", "--audit", "audit.jsonl").stdout
    call("rules", "audit.jsonl", "--format", "deny")


@pytest.mark.parametrize("verb", ["tune", "scan"])
def test_an_audit_that_is_given_as_pages_is_named(call, tmp_path, verb):
    audit = Audit()
    audit.begun()
    audit.write(tmp_path / "audit.jsonl")
    [error] = call(verb, "audit.jsonl", status=2).stderr.splitlines()
    assert error.endswith(
        "audit.jsonl, line 1: an audit, not pages; report and tune --audit read audits"
    )
