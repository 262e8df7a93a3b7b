"""Claims about all pages of a pattern, and what the key of a claim covers."""

import pytest
from claimed_site import PRINT, SID, at, told

from scrapy_neardup.claims.claim import NEEDED, Claim
from scrapy_neardup.claims.claimbook import ANYWHERE, Key
from scrapy_neardup.claims.host import MAX_TARGETS, Host
from scrapy_neardup.claims.part import PATTERN, SPENT, Part
from scrapy_neardup.claims.usedclaims import UsedClaim


def test_a_pattern_that_shows_the_same_page_again_and_again(site):
    site.page("/nothing")
    changes = (site.page(f"/calendar/2001/{number}", "/nothing") for number in range(NEEDED))
    empty = ("/calendar/N/N", Part(PATTERN))
    assert list(filter(None, changes)) == [[(*empty, True)]]
    assert site.finds("/calendar/1999/9") == [Part(PATTERN)]
    assert site.page("/calendar/1999/9", "a concert") == [(*empty, False)]
    assert site.finds("/calendar/1998/9") is None


@pytest.mark.parametrize(("targets", "begins"), [(MAX_TARGETS, True), (MAX_TARGETS + 1, False)])
def test_a_pattern_repeats_at_most_a_few_pages(targets, begins, site):
    for number in range(targets):
        site.page(f"/nothing/{'abcdefgh'[number]}")
    for number in range(3 * NEEDED):
        site.page(f"/calendar/{number}", f"/nothing/{'abcdefgh'[number % targets]}")
    assert site.claim("/calendar/N", Part(PATTERN)).is_in_force == begins


def test_a_pattern_that_comes_to_repeat_one_page_is_learnt_all_the_same(site):
    for number in range(MAX_TARGETS + 1):
        site.page(f"/nothing/{'abcdefgh'[number]}")
        site.page(f"/calendar/{number}", f"/nothing/{'abcdefgh'[number]}")
    changes = (site.page(f"/calendar/{99 + number}", "/nothing/a") for number in range(NEEDED))
    assert list(filter(None, changes)) == [[("/calendar/N", Part(PATTERN), True)]]


def test_urls_with_parameters_are_no_pattern_of_paths(site):
    site.page("/nothing")
    for number in range(3 * NEEDED):
        site.page(f"/calendar?day={number}", "/nothing")
    assert not [key for key in site.host.claims if key.part.kind == PATTERN]


def test_a_pattern_is_spent_by_pages_that_bring_nothing_one_after_the_other():
    host, spent = Host(), Part(SPENT)
    spends = lambda path, is_stale: told(host.spends(at(path), is_stale=is_stale, match=""))
    for number in range(NEEDED - 1):
        assert not spends(f"/view.php?t={number}", is_stale=True)
    assert spends("/view.php?t=x", is_stale=True) == [
        ("/view.php?t=", spent, True), ("/*.php?t=", spent, True)
    ]  # fmt: skip
    assert host.find(at("/view.php?t=new")).keys == (Key("/view.php?t=", spent),)
    assert host.find(at("/other.php?t=new")).keys == (Key("/*.php?t=", spent),)
    assert host.find(at("/view.php?f=new")) is None
    assert spends("/other.php?t=1", is_stale=False) == [("/*.php?t=", spent, False)]
    assert host.find(at("/view.php?t=new")).keys == (Key("/view.php?t=", spent),)
    assert host.find(at("/other.php?t=new")) is None


def test_claims_that_do_not_act_do_not_hide_others(site):
    site.confirm("{}?sid={}")
    for number in range(NEEDED):
        site.host.spends(at(f"/p/{number}?sid=1"), is_stale=True, match="")
    page = at("/p/1?sid=new")
    assert site.host.find(page).keys[0].part == Part(SPENT)
    found = site.host.find(page, lambda key: key.part.kind != SPENT)
    assert found.keys == (Key("/p/N", SID),)


def test_a_key_covers_the_urls_that_its_claim_is_about():
    covered = {
        Key("/p/N", SID): (["/p/1?sid=1", "/p/2?a=1&sid=2"], ["/p/1", "/q/1?sid=1"]),
        Key("/view.php", SID): (["/view.php?sid=1"], ["/list.php?sid=1"]),
        Key(ANYWHERE, SID): (["/p/1?sid=1", "/view.php?sid=1"], ["/p/1"]),
        Key("/p/N", PRINT): (["/print/p/1"], ["/p/1", "/print/q/1"]),
        Key("/p/N", Part(PATTERN)): (["/p/1"], ["/p/a/b", "/q/1"]),
        Key("/view.php?t=", Part(SPENT)): (["/view.php?t=1"], ["/view.php", "/view.php?f=1"]),
    }
    for key, (inside, outside) in covered.items():
        claim = UsedClaim("example.com", key, Claim())
        assert all(claim.covers(at(path)) for path in inside), key
        assert not any(claim.covers(at(path)) for path in outside), key
        assert not any(claim._replace(host="example.org").covers(at(path)) for path in inside)
