from collections import Counter

import pytest
from audits import Audit, shop
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.judge.comparison import Rule
from scrapy_neardup.report import reportpage
from scrapy_neardup.report.reportpage import (
    RULES,
    UNJUDGED_PAGES,
    Report,
    by_group,
    by_worth,
    drops_to_look_at,
    lines_with_texts,
    listing,
    text_of,
)
from scrapy_neardup.report.summary import Summary, entries, split_site
from scrapy_neardup.verdict import Reason


def summary_of(audit):
    summary = Summary()
    for number, entry in enumerate(entries(audit.lines(), "audit")):
        summary.add(entry, number)
    return summary


def test_everything_is_counted():
    audit = shop(products=3, copies=4)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    summary = summary_of(audit)
    assert summary.decisions == {"new": 3, "duplicate": 12, "unjudged": 1}
    assert summary.actions == {"keep": 4, "drop": 12}
    assert summary.unjudged == {"not-html": 1}
    assert summary.hosts == {"https://shop.example": [3, 12, 1]}
    assert summary.links == 3 * (0 + 1 + 2 + 3)
    assert (summary.orphaned, summary.orphans) == (1, ["https://shop.example/lost"])
    assert summary.patterns == {
        "/product/N.html": [3, 0, 0],
        "/product/N.html?sid=": [0, 12, 0],
        "/*.json": [0, 0, 1],
    }


@pytest.mark.parametrize(("site", "rest"), [
    ("https://a.example:8080", "/b?c"), ("https://a.example", "?c"), ("", "folder/page.html"),
    ("", "javascript:alert(1)"),
])  # fmt: skip
def test_a_site_is_scheme_and_host(site, rest):
    assert split_site(site + rest) == (site, rest)


def test_differences_are_told_of_the_largest_groups_first():
    audit = shop(products=2, copies=2)
    audit.drop("https://shop.example/other", audit.entries[3])
    audit.differ(audit.entries[0], "numbers (1, 2)")
    audit.differ(audit.entries[3], "a few words (\x1b[31mKöln, Bonn)")
    lines = Report(summary_of(audit), ["a"]).digest()
    largest, other = (line for line in lines if "differ in" in line)
    assert largest.startswith(
        "Worth a look: 3 pages that repeat https://shop.example/product/1.html differ in a few"
        " words (\ufffd[31mKöln, Bonn). If they are"
    )
    assert "2 pages that repeat https://shop.example/product/0.html differ in numbers" in other


def test_blocks_that_change_on_several_pages_are_proposed_by_class_or_id():
    audit = shop()
    audit.refetched("https://shop.example/product/1.html", "div.others", "p", "#clock")
    audit.refetched("https://shop.example/product/2.html", "div.others", "p", "#clock", "div.once")
    audit.refetched("https://shop.example/product/3.html", "div.others")
    summary = summary_of(audit)
    assert summary.refetched == 3
    assert summary.ignorable() == [("div.others", 3), ("#clock", 2)]
    [line] = (line for line in Report(summary, ["a"]).digest() if "NEARDUP_IGNORE" in line)
    assert line == (
        "Worth a look: div.others, #clock changed between two responses to one request. If nothing"
        ' in there is content to you, set NEARDUP_IGNORE = ["div.others", "#clock"].'
    )


def test_what_a_crawl_does_not_say_is_left_open():
    audit = Audit()
    kept = audit.kept("http://h/a")
    audit.drop("http://h/b", kept, resemblance=None, distance=None, reason="equal")
    summary = summary_of(audit)
    [drop] = summary.drops
    assert summary.links is None
    assert (drop.rule, drop.threshold, drop.own.title, drop.learnt) == ("equal", None, "", ())
    assert drops_to_look_at(summary) == {}


SHOES = {"title": "Red shoes", "headings": ["Shoes"]}


@pytest.mark.parametrize(("name", "drops", "listed"), [
    ("titles", [SHOES, SHOES | {"title": "Red boots"}, {"title": "Imprint", "headings": []}],
     [2, 1]),
    ("near", [{**SHOES, "resemblance": resemblance, "threshold": threshold}
              for resemblance, threshold in ((0.95, 0.9), (0.915, 0.9), (0.901, 0.9), (1.0, 0.9),
                                             (1.0, 0.99), (0.9, None))], [2, 1]),
    ("learnt", [{**SHOES, "learnt": learnt} for learnt in (["a"], [], ["a", "titles"])], [2, 0]),
])  # fmt: skip
def test_what_deserves_a_look_is_listed_worst_first(name, drops, listed):
    audit = Audit()
    kept = audit.kept("http://h/a", **SHOES)
    for number, keys in enumerate(drops):
        audit.drop(f"http://h/{number}", kept, **keys)
    assert drops_to_look_at(summary_of(audit)) == {name: listed}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 70), st.randoms())
def test_a_bounded_choice_has_what_deserves_a_look_and_some_of_each_group(groups, limit, source):
    audit = Audit()
    kept = [audit.kept(f"http://h/{number}") for number in range(6)]
    for number, group in enumerate(groups):
        audit.drop(f"http://h/{number}/x", kept[group])
    summary = summary_of(audit)
    first = source.sample(range(len(groups)), min(2, len(groups)))
    ranked = by_worth(summary, {"near": first})
    assert sorted(ranked) == [*range(len(groups))]
    numbers = by_group(summary, ranked[:limit])
    assert len(numbers) == len(set(numbers)) == min(limit, len(groups))
    assert len(set(first) & set(numbers)) == min(len(first), limit)
    of = [summary.drops[number].of_id for number in numbers]
    assert len([i for i, j in zip(of, [None, *of], strict=False) if i != j]) == len(set(of))
    sizes = Counter(drop.of_id for drop in summary.drops)
    assert [sizes[i] for i in of] == sorted((sizes[i] for i in of), reverse=True)
    if limit >= 6 + len(first):
        assert set(of) == set(sizes)


def test_a_listing_holds_what_the_drops_say():
    summary = summary_of(shop(products=2, copies=3))
    numbers = by_group(summary, by_worth(summary, {}))
    listed = listing(summary, numbers, {"near": [numbers[4]]}, {0: 7})
    names, groups = listed["names"], listed["groups"]
    assert listed["findings"] == {"near": [4]}
    assert [(kept[-1], size) for kept, size, _ in groups] == [(7, 3), (-1, 3)]
    rows = [row for *_, members in groups for row in members]
    assert len(rows) == 6
    for number, ((site, path, title, *_), pattern, rule, *row) in zip(numbers, rows, strict=True):
        drop = summary.drops[number]
        assert names[site] + path == drop.own.page
        assert [names[title], names[rule]] == [drop.own.title, drop.rule]
        assert names[pattern] == "/product/N.html?sid="
        assert row[:3] == [1, 0.98, 0.9]


def test_a_kept_page_that_the_audit_does_not_have_is_known_from_its_drops():
    audit = Audit()
    audit.drop("http://h/b", {"page": "http://old.example/a", "id": "ff"})
    listed = listing(summary_of(audit), [0], {}, {})
    [[[site, path, *_], _, [[[own, *_], *_]]]] = listed["groups"]
    assert [listed["names"][site] + path, listed["names"][own]] == [
        "http://old.example/a", "http://h",
    ]  # fmt: skip


def test_texts_are_those_of_whole_pairs_within_the_limit(monkeypatch):
    audit = Audit()
    kept = audit.kept("http://h/a", text="a b c")
    audit.kept("http://h/alone", text="d e f")
    drops = [audit.drop(f"http://h/{number}", kept, text="a b d") for number in range(3)]
    audit.drop("http://h/without", kept)
    summary = summary_of(audit)
    sizes = [len(entry["text"]) for entry in (kept, *drops)]
    assert lines_with_texts(summary, [1, 0, 2, 3]) == [0, 2, 3, 4]
    monkeypatch.setattr(reportpage, "MAX_BYTES", sum(sizes[:2]))
    assert lines_with_texts(summary, [1, 0, 2, 3]) == [0, 3]
    monkeypatch.setattr(reportpage, "MAX_BYTES", 1)
    assert lines_with_texts(summary, [1, 0, 2, 3]) == []


def test_only_ranges_are_left_out_of_a_text():
    entry = {"text": "x", "omitted": [[0, 4, "links"], [4, 1, "x"], ["a", 2, "b"], 7, [5, 6]]}
    assert text_of(entry) == {
        "packed": "x", "omitted": [[0, 4, "links"], [5, 6, "left out"]],
    }  # fmt: skip


def test_every_rule_has_a_sentence_and_every_reason_words():
    assert set(RULES) == set(Rule)
    assert all(text.endswith(".") for text in RULES.values())
    judged = {Reason.UNMATCHED, Reason.CHANGED, Reason.NEAR, Reason.EQUAL, Reason.SAME_PAGE}
    assert set(UNJUDGED_PAGES) == set(Reason) - judged


def test_experiments_are_counted():
    audit = shop()
    audit.experiment(
        "links", "https://a.example/2", "a page that is known", of="https://a.example/"
    )
    audit.experiment("probe", "https://a.example/x", "status 200", "pages like it are soft 404s")
    audit.refetched("https://a.example/3", "p.clock", place="a.example", changing=[7])
    report = Report(summary_of(audit), ["a"])
    assert "Experiments: 1 followed link, 1 soft 404 probe, 1 repeated request." in (
        report.digest()
    )
