"""The kinds of pages of benchmarks/hazards.py, and what is said of them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from hazards import README, Found, checked, judged, readme  # noqa: E402
from made.hazard_site import KINDS, TEMPLATES  # noqa: E402
from made.judging import Tally, judge, parameters_of, tally  # noqa: E402


def test_there_are_many_kinds_and_each_is_the_same_wherever_it_is_made():
    assert len(KINDS) >= 40
    for kind in KINDS.values():
        for template in TEMPLATES:
            pages = kind.site(template).pages
            assert pages == kind.site(template).pages
            assert len(pages) >= 7
            assert (len({page.content for page in pages}) < len(pages)) is kind.repeats, kind


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.shown == "text"])
def test_pages_that_differ_in_their_text_are_not_the_same(kind):
    of_content = {page.content: page.html for page in kind.site("sparse").pages}
    assert len(set(of_content.values())) == len(of_content)


def test_copies_are_found_and_pages_of_their_own_kept():
    copies, own = (
        judged(kind, ["best"], 1)["best"].tally for kind in ("sessions", "category-pages")
    )
    assert (copies.repetitions, copies.found) == (4 * 13, 4 * 13)
    assert (own.contents, own.lost) == (4 * 14, 0)


def test_other_pages_come_first_and_are_not_counted():
    site = KINDS["jobs-by-city"].site("wordy")
    assert len(site.before) == 12
    assert tally(site.pages, judge([*site.before, *site.pages], "best")).contents == 14


def test_a_preset_that_keeps_all_may_lose_no_text():
    one = Tally(contents=2, lost=1)
    lost = {"exact": Found(one)}
    checked(KINDS["bare-shells"], lost)
    checked(KINDS["prices"], {"best": Found(one, named="numbers"), "exact": Found()})
    with pytest.raises(AssertionError, match="exact loses 1 of 2: articles of one name"):
        checked(KINDS["prices"], lost)


def test_copies_of_equal_text_must_be_found():
    half = {"best": Found(Tally(repetitions=2, found=1))}
    checked(KINDS["adverts"], half)
    with pytest.raises(AssertionError, match=r"\['best'\] don't find all of one page"):
        checked(KINDS["campaigns"], half)


def test_what_the_default_loses_is_named_by_a_crawl():
    found = judged("places-in-the-header", ["best"], 1)
    assert found["best"].named.startswith("a few words (")
    assert not found["best"].unnamed
    checked(KINDS["places-in-the-header"], found)
    with pytest.raises(AssertionError, match="a crawl doesn't name them"):
        checked(KINDS["prices"], {"best": Found(unnamed=1)})


def test_a_preset_may_have_titles():
    assert parameters_of("compact+ignore") == replace(parameters_of("compact"), titles="ignore")


def test_readme_lists_what_the_default_loses():
    found = {
        "prices": Found(Tally(lost=1)), "jobs-by-city": Found(Tally(lost=2)), "photos": Found(),
        "sizes": Found(Tally(lost=3), named="numbers"),
    }  # fmt: skip
    results = {kind: {"best": each} for kind, each in found.items()}
    before, _, rest = README.read_text(encoding="utf-8").partition("<!-- kinds -->\n")
    after = rest.partition("  <!-- /kinds -->")[2]
    says = {kind: KINDS[kind].says for kind in results}
    others = "; ".join(sorted([says["prices"], says["jobs-by-city"]]))
    listed = f"  {says['sizes']}. It loses these without a warning: {others}."
    told = readme(before + "<!-- kinds -->\n  old\n  <!-- /kinds -->" + after, results)
    assert told.split() == f"{before}<!-- kinds -->\n{listed}\n  <!-- /kinds -->{after}".split()
