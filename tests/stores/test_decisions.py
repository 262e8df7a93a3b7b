"""One table of cases, and random ones near its thresholds: every store decides the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from golden_decisions import CASES, MATCHING, arrival, stored_page
from hypothesis import given
from hypothesis import strategies as st
from matching_pages import Known, evidence
from packed_bases import base_of
from redis_servers import shared_server
from store_registry import PLACES

from scrapy_neardup.evidence.decision import Comparison, Rule
from scrapy_neardup.evidence.layout import HEAD, LINKS, NAMED, Head, Planes
from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.stores.redis.scripts import script as text_of
from scrapy_neardup.stores.redis.values import resembling, weighing
from scrapy_neardup.verdict import Page, Weighing


def test_every_case_decides_as_the_table_says():
    for case in CASES:
        compared = Comparison(arrival(case), MATCHING.bins, MATCHING.bits)
        decided = compared.decide(case.stored, same_embedded=case.same_embedded)
        assert (decided and decided.rule) == case.rule, case


def test_the_cases_are_of_every_row():
    assert {case.rule for case in CASES} == {None, *Rule} - {Rule.WITHIN_K}


@pytest.mark.parametrize("name", sorted(PLACES))
def test_every_store_decides_as_the_table_says(name):
    async def play(uri: str) -> None:
        async with open_store(uri, matching=MATCHING, expected_pages=1000) as store:
            for number, case in enumerate(CASES):
                scope = str(number)
                await store.check_and_add(stored_page(case, scope))
                verdict = await store.check_and_add(arrival(case, scope))
                assert verdict.rule == (case.rule or ""), case
                assert verdict.is_duplicate == (case.rule is not None)
                assert verdict.witness == case.stored

    with PLACES[name]() as place:
        asyncio.run(play(place.uri))


def test_a_packed_base_decides_as_the_table_says():
    def apart(page: Page, number: int) -> Page:
        """Return the page where none of another case is like it."""
        mark = number * 0x9E3779B97F4A7C15 % 2**64
        features = tuple(feature + number for feature in page.features)
        fingerprint, own = page.fingerprint ^ mark, page.id + 2 * number
        return replace(page, id=own, fingerprint=fingerprint, features=features)

    pages = [apart(stored_page(case), number) for number, case in enumerate(CASES)]
    base = base_of(pages, MATCHING)
    for number, (case, kept) in enumerate(zip(CASES, pages, strict=True)):
        verdict, witness = base.judge(apart(arrival(case), number))
        assert (verdict.rule if verdict else None) == case.rule, case
        assert witness == case.stored
        if verdict:
            assert (verdict.match.page_id, verdict.match.distance) == (kept.id, case.distance)


def decided_by_script(matching: Matching, page: Page, stored: bytes, *, same: bool):
    """Return the rule and the resemblance that the script comes to."""
    then = (
        "local comparison, decide = evidence_functions()\n"
        "local page = comparison(ARGV[1], ARGV[2])\n"
        "return { decide(page, ARGV[3], ARGV[4] == '1') }"
    )
    script = text_of(Layout(3, 4, matching=matching), "evidence", record="", then=then)
    words = page.evidence, weighing(page, matching), stored, int(same)
    found = shared_server().client().eval(script, 0, *words)
    if not found:
        return None
    rule, *counts = found
    return rule.decode(), resembling(counts, matching.bits)


numbers = st.sampled_from((0, 1, 2, 3))
heads = st.builds(
    Head,
    steps=st.sampled_from((0, 1, 5, 2**32 - 1)),
    path=numbers,
    query=numbers,
    title=st.frozensets(st.sampled_from((1, 2, 3, 2**16 - 1)), max_size=3),
    places=st.lists(st.sampled_from((1, 256, 257, 3)), max_size=4).map(tuple),
    name=numbers,
    text=numbers,
    rows=st.tuples(*[st.sampled_from((0, 1, 2**16 - 1))] * 5),
)
places = st.frozensets(st.sampled_from((1, 256, 257, 3, 513)), max_size=3)
weighings = st.builds(
    Weighing,
    min_resemblance=st.sampled_from((0.9, 0.75, 1.0)),
    titles=st.sampled_from(("learn", "strict", "ignore")),
    changing=places,
    constant=places,
    common=st.frozensets(st.sampled_from((1, 2, 256, 2**16 - 1)), max_size=2),
    editions=st.frozensets(st.sampled_from((1, 4, 5, 2**32 - 4)), max_size=3),
    young_site=st.booleans(),
    young_folder=st.booleans(),
)


KINDS = ((0, 1), (0, 0, 0, 1, 2, 5, NAMED, LINKS), (0, 0, 0, 0, LINKS), (NAMED,))
"""Owners of bins, as often as they are drawn."""


@st.composite
def pairs(draw):
    """A matching, a page at hand, and what is stored of another: alike but for some bins."""
    bins, bits = draw(st.sampled_from(((8, 1), (16, 8), (64, 4), (512, 2))))
    changes = draw(st.sampled_from((0, 1, 2, 3, 8, 26, 38, 39, 60)))
    kinds, random = draw(st.sampled_from(KINDS)), draw(st.randoms(use_true_random=False))
    values = [random.randrange(1 << bits) for _ in range(bins)]
    owners = [random.choice(kinds) for _ in range(bins)]
    sketches = [(values, owners), (list(values), list(owners))]
    for bin_ in random.sample(range(bins), min(changes, bins)):
        sketches[1][0][bin_] ^= random.randrange(1 << bits)
        sketches[1][1][bin_] = random.choice((owners[bin_], *kinds))
    known = draw(weighings)
    furnished = draw(st.sampled_from((None, 0.0, 0.3, 0.9)))
    if furnished is not None:
        plane = sum((random.random() < furnished) << bin_ for bin_ in range(bins))
        lacked = [random.getrandbits(bins) & random.getrandbits(bins) for _ in range(bits + 1)]
        if draw(st.booleans()):  # the other page has most of it
            theirs = Planes.unpack(evidence(*sketches[1], bits=bits), bins, bits).values
            lacked[1:] = (value ^ (lacked[0] & random.getrandbits(bins) & random.getrandbits(bins))
                          for value in theirs)  # fmt: skip
        absent = (lacked[0], tuple(lacked[1:])) if draw(st.booleans()) else None
        known = replace(known, furniture=Known(plane, random.random() < 0.2, absent))
    short = draw(st.sampled_from((False, False, False, True)))
    ours, theirs = (
        draw(heads).pack() + (b"" if short else evidence(*sketch, bits=bits)[HEAD.size :])
        for sketch in sketches
    )
    page = Page(id=1, fingerprint=1, evidence=ours, weighing=known)
    return Matching(features=1, bins=bins, bits=bits), page, theirs


@given(pairs(), st.booleans())
def test_scripts_decide_as_python_does(pair, same):
    matching, page, stored = pair
    compared = Comparison(page, matching.bins, matching.bits)
    wanted = compared.decide(stored, same_embedded=same)
    if wanted is not None:
        rule, counts = wanted
        wanted = str(rule), counts and counts.resemblance(matching.bits)
    assert decided_by_script(matching, page, stored, same=same) == wanted


def test_a_page_that_lost_its_evidence_is_repeated_by_none():
    case = next(case for case in CASES if case.rule is Rule.ALIKE)
    compared = Comparison(arrival(case), MATCHING.bins, MATCHING.bits)
    assert compared.decide(b"") is None
    assert decided_by_script(MATCHING, arrival(case), b"", same=True) is None
