"""What two pages say of being one page: addresses, canonical addresses and titles."""

from __future__ import annotations

from enum import StrEnum

from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import Excluded


class Title(StrEnum):
    """How two titles compare."""

    SAME = "same title"
    OTHER = "other title"
    UNKNOWN = "no title of their own"


class AddressMatch(StrEnum):
    """How two addresses compare."""

    RESPONSE = "same address"
    PATH = "same path"
    NAME = "same name"
    OTHER = "other path"


def identify(
    ours: Evidence, theirs: Evidence, of_ours: Excluded, of_theirs: Excluded, *, reads_titles: bool
) -> tuple[AddressMatch, Title]:
    """Return how addresses and titles of two pages compare, by what their sites have shown."""
    address, title = compare_addresses(ours, theirs), Title.UNKNOWN
    names_canonical = ours.has_canonical or theirs.has_canonical
    is_hint = address is AddressMatch.PATH and names_canonical
    if is_hint:
        address = AddressMatch.OTHER
    if reads_titles and ours.segments and theirs.segments:
        own, other = ours.segments - of_ours.segments, theirs.segments - of_theirs.segments
        is_renumbered = ours.segments == theirs.segments and ours.title != theirs.title
        if (
            own - theirs.segments
            or other - ours.segments
            or (is_renumbered and address is AddressMatch.OTHER)
        ):
            title = Title.OTHER
        elif own & theirs.segments:
            title = Title.SAME
    if is_hint and believes_canonical(ours, theirs, of_ours, of_theirs, title):
        address = AddressMatch.PATH
    return address, title


def compare_addresses(ours: Evidence, theirs: Evidence) -> AddressMatch:
    """Return how the addresses of two pages compare."""
    if ours.path == theirs.path:
        names_canonical = ours.has_canonical or theirs.has_canonical
        if ours.query == theirs.query and not names_canonical:
            return AddressMatch.RESPONSE
        # Parameters that only one of two addresses has may mean nothing.
        if ours.query == theirs.query or not (ours.query and theirs.query):
            return AddressMatch.PATH
    return AddressMatch.NAME if ours.name == theirs.name else AddressMatch.OTHER


def believes_canonical(
    ours: Evidence, theirs: Evidence, of_ours: Excluded, of_theirs: Excluded, title: Title
) -> bool:
    """Return whether a canonical address counts as a path: a hint, where titles agree."""
    agree = title is Title.SAME or ours.title == theirs.title
    return agree and not (of_ours.canonicals or of_theirs.canonicals)
