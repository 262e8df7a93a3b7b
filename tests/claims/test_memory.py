"""The memory of hosts and their claims is bounded, and outlives a pause."""

import pickle

from claimed_site import PRINT, SID, ClaimedSite, at

from scrapy_neardup.claims.claimbook import MAX_CLAIMS
from scrapy_neardup.claims.host import MAX_HOSTS, Host, Hosts
from scrapy_neardup.claims.knownurls import MAX_CELLS
from scrapy_neardup.claims.urlparts import MAX_PARAMETERS, MAX_SEGMENTS


def test_claims_in_force_are_not_forgotten_for_others():
    site = ClaimedSite()
    site.confirm("{}?sid={}")
    fill(site)
    assert site.finds("/p/1?sid=x") == [SID]


def test_that_a_claim_has_ended_is_not_forgotten_for_others():
    site = ClaimedSite()
    site.confirm("{}?sid={}")
    assert site.page("/p/1?sid=x", "another page")
    fill(site)
    assert site.claim("/p/N", SID).ended == 1


def fill(site):
    for number in range(2 * MAX_CLAIMS):
        site.page("/q")
        site.page(f"/q?n{number}=1", "/q")
    assert len(site.host.claims) == MAX_CLAIMS
    assert 500 * MAX_CLAIMS < site.host.nbytes <= 512_000


def test_memory_is_bounded_whatever_the_urls():
    host = Host()
    for number in range(2_500):
        names = "&".join(f"p{number % 97}_{each}={number}" for each in range(MAX_PARAMETERS))
        path = "/".join(f"s{number * each}" for each in range(MAX_SEGMENTS - 2))
        for url in (f"/{path}?{names}", f"/{path};a={number}/B"):
            host.learn(at(url), number % 50, is_new=not number % 3)
    assert len(host.claims) <= MAX_CLAIMS
    assert 8 * MAX_CELLS < host.nbytes <= 512_000


def test_a_small_host_takes_little():
    site = ClaimedSite()
    for number in range(10):
        site.page(f"/p/{number}?id={number}")
    assert site.host.nbytes <= 2_048


def test_hosts_are_bounded():
    hosts = Hosts()
    for number in range(MAX_HOSTS + 10):
        assert hosts.met(f"h{number}.example").pages == 1
    assert len(hosts) == MAX_HOSTS
    assert hosts.met(f"h{MAX_HOSTS}.example").pages == 2


def test_hosts_go_on_after_a_pause():
    hosts, site = Hosts(), ClaimedSite()
    site.confirm("{}?sid={}")
    site.confirm("/print{}")
    hosts["example.com"] = site.host
    again = ClaimedSite(pickle.loads(pickle.dumps(hosts))["example.com"])
    assert again.finds("/p/1?sid=new") == [SID]
    assert again.finds("/print/p/1") == [PRINT]
    assert again.host.claims.dump() == site.host.claims.dump()
