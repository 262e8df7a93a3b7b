"""Pairs of pages and the rule by which one repeats the other: each row of the table of
`scrapy_neardup.evidence.decision`, and both sides of each of its edges.

Cases are made of that module's constants, so that a threshold may change and a row may not. All
sketches have 512 bins of 2 bits; those that differ come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor

from made_evidence import Known
from matching_pages import evidence

from scrapy_neardup.evidence.context import SiteContext
from scrapy_neardup.evidence.decision import Rule
from scrapy_neardup.evidence.demands import (
    DEMANDS,
    EQUAL,
    MIN_BITS,
    MIN_CORE_BINS,
    MIN_EQUAL_BITS,
    MIN_TELLING_CORE_BINS,
    SITE_LINKS,
    UNDER_ONE_TITLE,
    Names,
)
from scrapy_neardup.evidence.layout import BORDER, LINKS, NAMED, Head
from scrapy_neardup.stores import Matching
from scrapy_neardup.verdict import Candidate, Page

BINS, BITS = 512, 2
MATCHING = Matching(features=1, bins=BINS, bits=BITS)
DIFFER = 1 - 2.0**-BITS
"""Share of the bins in which sets differ that look so."""


@dataclass(frozen=True)
class Case:
    """A page, what is at hand of it, what is stored of another, and the rule or None."""

    rule: Rule | None
    evidence: bytes
    stored: bytes
    context: SiteContext
    distance: int
    same_embedded: bool
    label: str


NAMED_SO: dict[Names, dict[str, object]] = {
    Names.OTHER: {"title": frozenset({1, 2})},
    Names.RETITLED: {"title": frozenset({1, 2}), "name": 1},
    Names.UNKNOWN: {"title": frozenset()},
    Names.TITLE: {},
    Names.NAMESAKE: {"name": 1},
    Names.TRANSLATED: {"path": 1, "query": 0, "title": frozenset({1, 2})},
    Names.ADDRESS: {"path": 1, "query": 0},
    Names.RESPONSE: {"path": 1, "name": 1},
}
"""What the other page's head says if titles and addresses say this."""


def case(
    label: str,
    rule: Rule | None,
    *,
    names: Names = Names.TITLE,
    differing: int = 0,
    ours: list[int] | None = None,
    theirs: list[int] | None = None,
    short: bool = False,
    our_head: dict[str, object] | None = None,
    their_head: dict[str, object] | None = None,
    distance: int = 0,
    same_embedded: bool = True,
    **known: object,
) -> Case:
    """Return a case; `ours` and `theirs` are the owners of the first bins, others are content."""
    usual = {
        "path": 1,
        "query": 5,
        "name": 1,
        "title": frozenset({1}),
        "places": (11, 12),
        "text": 1,
    }
    head = Head(**usual | (our_head or {}))
    other = Head(
        **usual | {"path": 2, "name": 2, "text": 2} | NAMED_SO[names] | (their_head or {})
    )
    stored = []
    for each, value, owners in ((head, 1, ours), (other, 2, theirs)):
        packed = each.pack()
        if not short:
            values = [value] * differing + [1] * (BINS - differing)
            owned = ((owners or []) + [0] * BINS)[:BINS]
            packed += evidence(values, owned, bits=BITS)[len(packed) :]
        stored.append(packed)
    return Case(rule, *stored, SiteContext(**known), distance, same_embedded, label)


def edge(label: str, rule: Rule, *, most: float, **more: object) -> Iterator[Case]:
    """Yield a case in which so many bins differ, and one in which one more does."""
    for differing, expected in ((floor(most), rule), (floor(most) + 1, None)):
        yield case(f"{label}: {differing} differ", expected, differing=differing, **more)


def _alike() -> Iterator[Case]:
    most = 0.1 * DIFFER
    for names in Names:
        yield case(f"alike, {names.name}", Rule.ALIKE, names=names)
        least = UNDER_ONE_TITLE if names is Names.TITLE else DEMANDS[names].unlike
        nearly = least * most * BINS
        yield from edge(f"alike, nearly, {names.name}", Rule.ALIKE, most=nearly, names=names)
    thread = UNDER_ONE_TITLE * most
    yield from edge("titles ignored", Rule.ALIKE, most=most * BINS, titles="ignore")
    yield from edge("under one title", Rule.ALIKE, most=thread * BINS, young_folder=True)
    for count in (MIN_TELLING_CORE_BINS, MIN_TELLING_CORE_BINS - 1):
        few, many = floor(thread * count), floor(most * BINS)  # that may differ of core and text
        core = [0] * few + [LINKS] * (many - few) + [0] * (count - few) + [LINKS] * BINS
        told = Rule.ALIKE if count >= MIN_TELLING_CORE_BINS else None
        yield case(f"a core of {count}", told, differing=many, ours=core, theirs=core)
    known = {"names": Names.NAMESAKE}
    yield from edge("at .75", Rule.ALIKE, most=0.25 * DIFFER * BINS, min_resemblance=0.75, **known)
    core = [0] * 112 + [LINKS] * 400
    yield from edge("a short core", Rule.ALIKE, most=most * 112, ours=core, theirs=core, **known)
    shared = sum(1 << bin_ for bin_ in range(256, BINS))
    yield from edge("furniture", Rule.ALIKE, most=most * 256, furniture=Known(shared), **known)
    ours = sum(1 << bin_ for bin_ in range(200))
    yield from edge("furniture that the other lacks", Rule.ALIKE, most=200 + most * 312,
                    furniture=Known(ours), **known)  # fmt: skip
    yield case("posts, of which one quotes what is often quoted", None, differing=200,
               furniture=Known(ours))  # fmt: skip
    for lacked, rule in ((200, Rule.ALIKE), (412, None)):
        absent = (1 << lacked) - 1, (0, (1 << BINS) - 1)  # theirs: the value 2 where they differ
        for names in (Names.NAMESAKE, Names.TITLE):
            yield case(
                f"{lacked} bins that we lack, {names.name}",
                rule if names is Names.NAMESAKE else None,
                names=names,
                differing=205,
                furniture=Known(absent=absent),
            )
    shared = sum(1 << bin_ for bin_ in range(100, BINS))
    yield from edge(
        "furniture, most of it", Rule.ALIKE, most=0, furniture=Known(shared, most=True)
    )


def _same_core() -> Iterator[Case]:
    theirs = [LINKS] * 300
    for names in Names:
        yield case(
            f"aside of theirs, {names.name}",
            Rule.SAME_CORE,
            names=names,
            differing=300,
            theirs=theirs,
        )
        for owner, share in zip((NAMED, LINKS), DEMANDS[names][3:5], strict=True):
            most = floor(share * DIFFER * BINS)
            for beside, rule in ((most, Rule.SAME_CORE), (most + 1, None)):
                label = f"{beside} of owner {owner} beside, {names.name}"
                ours = [owner] * beside
                yield case(label, rule, names=names, differing=300, ours=ours, theirs=theirs)
    for names in Names:
        least = DEMANDS[names].counted
        for core, rule in ((least, Rule.SAME_CORE), (least - 1, None)):
            aside = BINS - core
            label = f"a core of {core} bins, {names.name}"
            yield case(label, rule, names=names, differing=aside, theirs=[LINKS] * aside)


def _core_and_rows() -> Iterator[Case]:
    """Yield cases of how much of the core may differ."""
    theirs = [LINKS] * 300
    for names in Names:
        most = max(DEMANDS[names].differing, 0.1 * DEMANDS[names].nearly) * DIFFER * 212
        yield from edge(
            f"core, {names.name}", Rule.SAME_CORE, most=300 + most, names=names, theirs=theirs
        )
        in_rows = names >= Names.NAMESAKE
        for owners, rule in (([BORDER], Rule.SAME_CORE if in_rows else None), ([0], None)):
            more = theirs + owners * 30
            label = f"30 of owner {owners}, {names.name}"
            yield case(label, rule, names=names, differing=330, theirs=more)
    for names in (each for each in Names if each >= Names.NAMESAKE):
        few = theirs + [BORDER] * (213 - MIN_CORE_BINS)
        yield case(f"few rows, {names.name}", None, names=names, differing=330, theirs=few)
        for share, rule in ((0.5, Rule.SAME_CORE), (0.6, None)):
            if names is Names.RESPONSE:
                continue  # as much may differ with as much beside
            beside = floor(share * DEMANDS[names].named * DIFFER * BINS)
            label = f"{beside} beside a core that differs, {names.name}"
            ours = [NAMED] * beside
            yield case(label, rule, names=names, differing=305, ours=ours, theirs=theirs)


def _same_rows() -> Iterator[Case]:
    """Yield cases of rows that are the same, whatever part of a sketch they have."""
    same = {"our_head": {"rows": (1,)}, "their_head": {"rows": (1,)}}
    for names in Names:
        rule = Rule.SAME_CORE if names >= Names.NAMESAKE else None
        for core, expected in ((1, rule), (0, None)):
            aside = BINS - core
            yield case(f"rows in {core} bins, {names.name}", expected, names=names,
                       differing=aside, theirs=[LINKS] * aside, **same)  # fmt: skip
        links = [LINKS] * 400
        least = ceil(SITE_LINKS * 400)
        for shared, expected in ((least, rule), (least - 1, None)):
            furniture = Known(sum(1 << bin_ for bin_ in range(400 - shared, 400)))
            label = f"{shared} of the links are the site's, {names.name}"
            yield case(label, expected, names=names, differing=400, ours=links, theirs=links,
                       furniture=furniture, **same)  # fmt: skip
            yield case(f"{label}, other rows", None, names=names, differing=400, ours=links,
                       theirs=links, furniture=furniture)  # fmt: skip
    aside = [LINKS] * (BINS - 1)
    for known, ours, theirs, expected in (
        ({}, (), (), None),
        ({}, (1, 2), (1, 2), Rule.SAME_CORE),
        ({11}, (0, 2), (0, 2), None),
        ({}, (1, 2), (1, 3), None),
        ({11}, (1, 2), (1, 3), Rule.SAME_CORE),
        ({12}, (1, 2), (1, 3), None),
        ({11, 12}, (2**16 - 1, 2, 3), (2**16 - 1, 4, 5), Rule.SAME_CORE),
        ({12}, (2**16 - 1, 2, 3), (1, 0, 5), Rule.SAME_CORE),
    ):
        yield case(
            f"rows {ours} and {theirs}, {known} change",
            expected,
            names=Names.ADDRESS,
            differing=len(aside),
            theirs=aside,
            our_head={"rows": ours},
            their_head={"rows": theirs},
            changing=frozenset(known),
        )


_ONE_ADDRESS = (Names.TRANSLATED, Names.ADDRESS, Names.RESPONSE)


def _equal_text() -> Iterator[Case]:
    most = EQUAL * BINS
    for names in (Names.OTHER, Names.RETITLED, Names.UNKNOWN):
        young = {"names": names, "young_folder": True}
        yield from edge(f"young folder, {names.name}", Rule.EQUAL_TEXT, most=most, **young)
        for core, rule in (
            (MIN_BITS // BITS, Rule.ALIKE),
            (MIN_BITS // BITS - 1, Rule.EQUAL_TEXT),
        ):
            aside = [LINKS] * (BINS - core)
            yield case(
                f"core of {core}, {names.name}", rule, names=names, ours=aside, theirs=aside
            )
        few, enough = MIN_BITS // BITS, MIN_EQUAL_BITS // BITS
        for left in (enough, enough - 1, few, few - 1, 0):
            shared = Known(sum(1 << bin_ for bin_ in range(left, BINS)))
            for text in (1, 2):
                told = text == 1 and (names > Names.RETITLED or left >= few)
                tells = left >= enough or told
                yield case(
                    f"{left} bins are no furniture, text {text}, {names.name}",
                    Rule.EQUAL_TEXT if tells else None,
                    furniture=shared,
                    their_head={"text": text},
                    **young,
                )
    young = {"young_folder": True, "young_site": True}
    for names in (Names.OTHER, Names.RETITLED):
        yield case(f"another title, young, {names.name}", None, names=names, **young)
    yield case("no title, young", Rule.EQUAL_TEXT, names=Names.UNKNOWN, **young)
    yield case("the same title, young", Rule.EQUAL_TEXT, **young)
    yield case("the same address, young", Rule.ALIKE, names=Names.ADDRESS, **young)


def _places() -> Iterator[Case]:
    """Yield cases of places: they are aside where they change, theirs where they are constant.

    Under a title alone none is.
    """
    at = [1] * 300
    for known, ours, theirs, rule in (
        ({}, [], at, None),
        ({"changing": {11}}, [], at, Rule.SAME_CORE),
        ({"constant": {11}}, [], at, Rule.SAME_CORE),
        ({"changing": {12}}, [], at, None),
        ({"constant": {12}}, [], at, None),
        ({"changing": {11}}, at, [], Rule.SAME_CORE),
        ({"changing": {11}}, at, at, Rule.SAME_CORE),
        ({"constant": {11}}, at, at, Rule.SAME_CORE),
        ({"constant": {11}}, at, [], None),
    ):
        places = {name: frozenset(values) for name, values in known.items()}
        label = f"{known}, {len(ours)} and {len(theirs)} bins"
        for names in (Names.NAMESAKE, Names.TITLE):
            yield case(
                f"{label}, {names.name}",
                rule if names is Names.NAMESAKE else None,
                names=names,
                differing=300,
                ours=ours,
                theirs=theirs,
                **places,
            )


def _names() -> Iterator[Case]:
    """Yield short pages: equal text, and titles and addresses decide."""
    for names in Names:
        rule = None if names <= Names.RETITLED else Rule.EQUAL
        yield case(f"short, {names.name}", rule, names=names, short=True)
        rule = Rule.EQUAL if names in _ONE_ADDRESS else None
        yield case(
            f"short, other media, {names.name}", rule, names=names, short=True, same_embedded=False
        )
        rule = Rule.ALIKE if names in _ONE_ADDRESS else None
        yield case(f"other media, {names.name}", rule, names=names, same_embedded=False)
    far = {"short": True, "same_embedded": False}
    for label, ours, theirs, editions, rule in (
        ("an edition", {"steps": 3}, {"steps": 1}, {2}, Rule.EQUAL),
        ("an edition, the other way", {"steps": 1}, {"steps": 3}, {2**32 - 2}, Rule.EQUAL),
        ("an edition of another", {"steps": 3}, {"steps": 1}, {3, 2 << 8, 2 << 16}, None),
        ("an edition, another query", {"steps": 3, "query": 4}, {"steps": 1}, {2}, None),
        ("parameters added", {"query": 0}, {"path": 1}, (), Rule.EQUAL),
        ("other parameters", {"query": 4}, {"path": 1}, (), None),
    ):
        heads = {"our_head": ours, "their_head": theirs}
        yield case(label, rule, **far, **heads, editions=frozenset(editions))
    for label, ours, theirs, common, rule in (
        ("other titles", {1, 2}, {1, 3}, (), None),
        ("other common words", {1, 2}, {1, 3}, {2, 3}, Rule.EQUAL),
        ("a word more", {1}, {1, 2}, {1}, None),
        ("nothing but common words", {1}, {1}, {1}, Rule.EQUAL),
        ("no title", (), {1}, (), Rule.EQUAL),
        ("numbers that contain each other", {256}, {1}, {65281}, None),
    ):
        heads = {
            "our_head": {"title": frozenset(ours)},
            "their_head": {"title": frozenset(theirs)},
        }
        yield case(label, rule, short=True, **heads, common=frozenset(common))
        yield case(f"{label}, ignored", Rule.EQUAL, short=True, **heads, titles="ignore")


CASES = (
    *_alike(),
    *_same_core(),
    *_core_and_rows(),
    *_same_rows(),
    *_equal_text(),
    *_places(),
    *_names(),
)


def arrival(case: Case) -> Page:
    """Return the page at hand."""
    return Page(id=2, fingerprint=1, exact=len(case.evidence) < 100, evidence=case.evidence)


def candidate(case: Case) -> Candidate:
    """Return what a store found."""
    return Candidate(1, case.distance, case.stored, same_content=case.same_embedded)
