"""What each rule of a site learns, shares, and keeps for the next run."""

import json
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.judge.boilerplate import MAX_SHINGLES, Counts
from scrapy_neardup.judge.evidence import DomPath, Evidence
from scrapy_neardup.judge.knowledge import MIN_PAGES, NOTHING, Excluded
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sites import Site, Sites
from scrapy_neardup.judge.titles import MIN_TITLES
from scrapy_neardup.settings.catalogue import LEARNABLE
from scrapy_neardup.urls import Address

DOCS, NEWS = "//a.example/docs4/", "//a.example/news/"


def chain(folder):
    return Address.of(f"http:{folder}page").folders


def evidence(folder=DOCS, **more):
    folders = chain(folder)
    return Evidence(host=folders[0], folder=folders[-1], **more)


def text(seed, shared=(), count=50):
    own = np.random.default_rng(seed).integers(0, 1 << 63, count, np.uint64) << np.uint64(1)
    shingles = np.unique(np.concatenate([own, np.array(shared, np.uint64)]))
    paths = np.zeros(len(shingles), np.uint8)
    return Text(shingles, paths, shingles, paths)


PLACE = Address.of(f"http:{DOCS}page").place

MENU = tuple(range(2, 2002, 2))
"""Shingles of the kind of text: they are even."""


def rule(site, name):
    return next(each for each in site.rules if each.name == name)


def grown(pages=MIN_PAGES, site=None):
    site = site or Site("me")
    for number in range(pages):
        titled = evidence(segments=frozenset({1, 100 + number}))
        site.learn(chain(DOCS), titled, text(number, MENU))
    return site


def test_counts_of_no_page_are_read_and_impossible_ones_refused():
    nothing = Counts().dump(complete=True)
    assert Counts.load(nothing).pages == 0
    with pytest.raises(ValueError, match="not counts"):
        Counts.load([-1, *nothing[1:]])


@given(pages=st.integers(MIN_PAGES, 4 * MIN_PAGES), others=st.integers(0, 2))
def test_counts_that_are_merged_call_the_same_boilerplate(pages, others):
    counts, nothing = Counts(), [Counts() for _ in range(others)]
    for number in range(pages):
        counts.add(text(number, MENU if number else ()).shingles)
        assert {*counts.merged(nothing).boilerplate()} == {*counts.boilerplate()}


def test_boilerplate_is_on_half_of_the_pages_of_a_folder_or_its_host():
    assert not rule(grown(MIN_PAGES - 1), "boilerplate").exclude(evidence()).shared
    site = grown()
    boilerplate = rule(site, "boilerplate")
    for folder, number in ((DOCS, 2), (NEWS, 1)):
        first, *others = boilerplate.exclude(evidence(folder)).shared
        assert len(others) == number - 1
        assert first.shingles.tolist() == list(MENU)
        assert first.sketch(512, 2).bit_count() > 0
    for number in range(2 * MIN_PAGES):
        site.learn(chain(NEWS), evidence(NEWS), text(1000 + number))
    assert not boilerplate.exclude(evidence(NEWS)).shared  # a third of the host's pages
    assert len(boilerplate.exclude(evidence()).shared) == 1


def test_long_pages_show_what_their_folder_shares_as_short_ones_do():
    """All of it, not only the shingles with low hashes: sketches sample low ones."""
    site, menu = Site("me"), text(0).shingles
    for number in range(MIN_PAGES):
        count = 2 * MAX_SHINGLES if number % 3 == 0 else 50
        site.learn(chain(DOCS), evidence(), text(100 + number, menu, count))
    for shared in rule(site, "boilerplate").exclude(evidence()).shared:
        assert shared.shingles.tolist() == menu.tolist()


def test_segments_that_many_titles_share_are_the_site_s():
    found = rule(grown(MIN_TITLES), "titles").exclude(evidence(segments=frozenset({1, 100, 5})))
    assert (found.segments, found.by) == (frozenset({1}), ("titles",))
    before = rule(grown(MIN_TITLES - 1), "titles").exclude(evidence(segments=frozenset({1})))
    assert not any(before)


def changed(number):
    """A response whose text is another one at one DOM path of two."""
    paths = {12: DomPath(number, 3), 14: DomPath(7, 3)}
    return evidence(paths=paths, rows=107 + number)


def learn_response(site, number):
    """Learn from two responses to one request that differ in their text at DOM path 12."""
    site.folders.used(evidence().folder).place = PLACE
    pair = changed(number), changed(-number)
    texts = (text(1000 + seed, MENU) for seed in (number, -number))
    told = [each._replace(standing=it.paths) for each, it in zip(texts, pair, strict=True)]
    site.changing.learn_response(PLACE, *pair, tuple(told))


def learnt_by(site):
    page = evidence(segments=frozenset({1}), paths={12: DomPath(1, 1)})
    excluded = {each.name: each.exclude(page) for each in site.rules}
    return {name: (each.segments, each.paths, [part.shingles.tolist() for part in each.shared])
            for name, each in excluded.items()}  # fmt: skip


def complete(site=None):
    site = grown(site=site)
    for number in (1, 2):
        learn_response(site, number)
    return site


def test_a_later_run_goes_on_with_all_of_it_and_other_crawlers_with_what_their_host_needs():
    site = complete()
    resumed, other = Site("you"), Site("you")
    assert resumed.restore(site.dump(complete=True))
    assert learnt_by(resumed) == learnt_by(site)
    other.add_others([site.dump()])
    segments, paths, shared = zip(*learnt_by(other).values(), strict=True)
    assert (segments[2], paths[1], shared[0]) == (frozenset({1}), {12}, [list(MENU)])
    assert not other.folders.has_few_pages(chain(DOCS)[0])
    assert other.folders.has_few_pages(evidence().folder)  # what its pages share isn't shared
    assert other.folders.chain(1, evidence().folder) == chain(DOCS)
    other.add_others([])
    assert not any(any(found) for found in learnt_by(other).values())
    # Together two crawlers know what neither does.
    halves = [grown(MIN_PAGES // 2) for _ in range(2)]
    halves[0].member = "first"
    halves[1].add_others([halves[0].dump()])
    later = Site("later")
    later.add_others([halves[0].dump()])
    for site in (halves[1], grown(MIN_PAGES // 2, site=later)):
        assert learnt_by(site)["boilerplate"][2] == [list(MENU)]


def test_folders_used_last_stay_where_memory_is_short():
    site = Site("me")
    for folder in range(2, 12):
        site.learn((1, folder), Evidence(host=1, folder=folder), text(folder, MENU))
    boilerplate = rule(site, "boilerplate")
    before, most = boilerplate.nbytes, boilerplate.nbytes // 2
    site.shrink(before)
    assert site.nbytes > before
    assert sorted(boilerplate.own) == list(range(1, 12))
    site.shrink(most)
    assert most // 2 < boilerplate.nbytes <= most
    assert sorted(boilerplate.own) == [1, *range(13 - len(boilerplate.own), 12)]


def test_what_a_group_holds_counts_as_memory():
    site = complete()
    changing, titles = rule(site, "changing"), rule(site, "titles")
    before = changing.nbytes, titles.nbytes
    changing.used(PLACE).count(range(100, 200), set())
    titles.used(DOCS).segments.update(dict.fromkeys(range(100, 200), 1))
    grown_by = changing.nbytes - before[0], titles.nbytes - before[1]
    assert min(grown_by) >= 100 * sys.getsizeof((1, 2))


def test_what_one_host_shows_says_nothing_of_another():
    """Also if the other host's pages copy it."""
    sites = Sites()
    site, another = (sites.add(chain(f"{at}/")[0], at) for at in ("//a.example", "//b.example"))
    own, copy = evidence(), evidence("//b.example/docs/", segments=frozenset({1}))
    complete(site)
    another.learn(chain("//b.example/docs/"), copy, text(1, MENU))
    assert not any(sites.exclude(copy._replace(paths={12: DomPath(1, 1)})))
    assert all(map(any, [sites.exclude(own._replace(segments=frozenset({1})))]))
    assert sites.has_few_pages(own, copy)
    assert not sites.has_few_pages(own, own)


def test_a_folder_that_was_not_met_may_be_beside_that_of_the_page_at_hand():
    sites, (near, beside, far) = (
        Sites(),
        (f"//a.example/{each}/" for each in ("x/1", "x/2", "y/1")),
    )
    site = sites.add(chain(near)[0], "a.example")
    for number in range(MIN_PAGES):
        site.learn(chain(far), evidence(far), text(number, MENU))
    site.learn(chain(near), evidence(near), text(100, MENU))
    assert sites.has_few_pages(evidence(near), evidence(beside))
    assert not sites.has_few_pages(evidence(near), evidence(far))
    assert not sites.has_few_pages(evidence("//a.example/z/"), evidence(far))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["folders", "member", *LEARNABLE]), JSON))
def test_whatever_others_post_raises_nothing_and_costs_nothing_known(parts):
    site = complete()
    before, dump = learnt_by(site), zlib.compress(json.dumps(parts).encode())
    assert site.add_others((dump, complete().dump()[:40], b"x", b"")) >= 2
    assert learnt_by(site)["changing"][1] >= before["changing"][1]
    Site("me").restore(dump)


@pytest.mark.parametrize("depth", [10_000, 200_000])
def test_nested_brackets_are_skipped(depth):
    site = complete()
    before = learnt_by(site)
    site.add_others([zlib.compress(b'{"folders": ' + b"[" * depth + b"]" * depth + b"}")])
    assert learnt_by(site) == before


def test_a_canonical_that_pages_under_different_titles_name_is_no_longer_believed():
    site, same = Site("me"), Site("me")
    for number in range(3):
        page = evidence(path=7, has_canonical=True, title=number, segments=frozenset({number}))
        assert rule(site, "titles").exclude(page).canonicals == (number > 1)
        site.learn(chain(DOCS), page, text(number))
        same.learn(chain(DOCS), page._replace(title=1, path=number % 2), text(number))
    assert not rule(same, "titles").exclude(evidence()).canonicals
    resumed, other = Site("you"), Site("you")
    assert resumed.restore(site.dump(complete=True))
    other.add_others([site.dump()])
    for each in (resumed, other):
        assert rule(each, "titles").exclude(evidence()).canonicals


def test_all_that_one_of_two_exclusions_leaves_out_is_left_out():
    some = frozenset({1})
    full = Excluded(some, some, True, (None,), ("rule",), some, True, some, some)
    assert NOTHING.plus(full) == full.plus(NOTHING) == full
