"""The memory of hosts and their claims, and its hash table: bounded, and outlives a pause."""

import pickle

import pytest
from claimed_site import PRINT, SID, ClaimedSite, at
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.claims.claim import NEEDED
from scrapy_neardup.claims.claimbook import ANYWHERE, MAX_CLAIMS, Key
from scrapy_neardup.claims.host import MAX_HOSTS, Host, Hosts
from scrapy_neardup.claims.knownurls import MAX_CELLS, HashTable
from scrapy_neardup.claims.part import SEGMENT, Part
from scrapy_neardup.claims.urlparts import KEY_BITS, MAX_PARAMETERS, MAX_SEGMENTS, VALUE_BITS


@pytest.mark.parametrize("ends", [False, True])
def test_neither_a_claim_in_force_nor_that_it_has_ended_is_forgotten_for_others(site, ends):
    site.confirm("{}?sid={}")
    if ends:
        assert site.page("/p/1?sid=x", "another page")
    for number in range(2 * MAX_CLAIMS):
        site.page("/q")
        site.page(f"/q?n{number}=1", "/q")
    assert len(site.host.claims) == MAX_CLAIMS
    assert 500 * MAX_CLAIMS < site.host.nbytes <= 512_000
    assert site.finds("/p/1?sid=x") == (None if ends else [SID])
    assert site.claim("/p/N", SID).ended == ends


def test_memory_is_bounded_whatever_the_urls():
    host = Host()
    for number in range(2_500):
        names = "&".join(f"p{number % 97}_{each}={number}" for each in range(MAX_PARAMETERS))
        path = "/".join(f"s{number * each}" for each in range(MAX_SEGMENTS - 2))
        for url in (f"/{path}?{names}", f"/{path};a={number}/B"):
            host.learn(at(url), number % 50, is_new=not number % 3)
    assert len(host.claims) <= MAX_CLAIMS
    assert 8 * MAX_CELLS < host.nbytes <= 512_000


def test_a_small_host_takes_little(site):
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


def test_parts_are_taken_from_urls_in_the_same_order_after_a_pause():
    """Some are in place only once others are taken away."""
    host, language = Host(), Part(SEGMENT, "en_GB", "en")
    for part in (PRINT, language, PRINT):
        for place in (ANYWHERE, "/en_GB/*", "/en/*") * NEEDED:
            host.claims.note(Key(place, part), ("", ""), speaks_for=True)
    again = pickle.loads(pickle.dumps(host))
    page = at("/print/en_GB/x")
    assert again.apply(page) == host.apply(page)
    assert [each.part for each in again.apply(page)[1]] == [PRINT, language]


KEYS = st.integers(1, (1 << KEY_BITS) - 1)
VALUES = st.integers(0, (1 << VALUE_BITS) - 1)


def spread(number):
    """Return a key as a hash has them: evenly spread."""
    return (number * 0x9E3779B97F4A7C15) % (1 << KEY_BITS) or 1


@given(st.dictionaries(KEYS.map(spread), VALUES, max_size=300))
def test_what_was_put_is_found_while_the_table_grows(entries):
    table = HashTable()
    for key, value in entries.items():
        table.put(key, value)
        table.put(key, value)
    assert {key: table.get(key) for key in entries} == entries
    assert sum(map(bool, table._cells)) == len(entries)


@given(st.lists(KEYS, min_size=1, max_size=60), VALUES)
def test_any_keys_the_last_one_is_found_and_nothing_is_made_up(keys, value):
    table = HashTable(16)
    for number, key in enumerate(keys):
        table.put(key, number)
    table.put(keys[-1], value)
    assert table.get(keys[-1]) == value
    assert table.nbytes <= 16 * 8
    for key in keys[:-1]:
        found = table.get(key)
        last = value if key == keys[-1] else len(keys) - 1 - keys[::-1].index(key)
        assert found in {None, last}


def test_a_full_table_forgets_the_oldest_and_stays_bounded():
    table = HashTable()
    for number in range(3 * MAX_CELLS):
        table.put(spread(number), number)
    assert table.nbytes == 8 * MAX_CELLS
    recent = range(3 * MAX_CELLS - MAX_CELLS // 2, 3 * MAX_CELLS)
    assert sum(table.get(spread(number)) == number for number in recent) > 0.9 * len(recent)
    last = recent[-1]
    table.discard(last)
    assert [table.get(spread(number)) for number in (last, last - 1)] == [None, last - 1]
    table.clear()
    assert table.get(spread(last)) is None
