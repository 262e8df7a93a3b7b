"""The book of the claims about a host's URLs.

A claim is about a *place*, a script (``/viewtopic.php``) or a pattern of paths (``/docs/*.html``),
and about a part of its URLs (`scrapy_neardup.claims.part`). There is also a claim about the same
part at any place of the host. It withholds nothing by itself, but while it is in force, a claim
about one place needs less evidence.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.claim import Change, Claim, Pair, State
from scrapy_neardup.claims.part import (
    MAX_WHAT,
    PARAMETER,
    PATH_PARAMETER,
    PATTERN,
    SPENT,
    WHOLE,
    Part,
    part_of,
)
from scrapy_neardup.claims.urlparts import Parts

ANYWHERE: Final = ""
"""The place of a claim about all places of a host."""

MAX_CLAIMS: Final = 256
"""Maximum number of claims about a host; those used last stay."""
MAX_PATH_PARTS: Final = 16
"""Maximum number of parts of a path for which a host's URLs are examined: those that most pages
support, then those found last. Each page that repeats another one may show a part."""
TOPIC: Final = "urls"
"""First word of the topics under which crawlers exchange the claims about hosts."""
MAX_DUMP: Final = 1 << 20
"""Maximum size of a host's unpacked dump in bytes: `MAX_CLAIMS`, each with long URLs and values of
`MAX_NAMES` parameters."""

ALL: Final = (Part(PATTERN), Part(SPENT))
"""The parts of claims about all pages of a pattern."""


class Key(NamedTuple):
    """The key of a claim: its place, and the part of URLs."""

    place: str
    part: Part

    def __str__(self) -> str:
        if self.part.kind in WHOLE:
            return f"{self.place}: {self.part}"
        return f"{self.part} on {self.place}" if self.place else str(self.part)


def patterns(page: Parts) -> Iterator[str]:
    """Yield the patterns of a URL: that of its script, if it has parameters; the general one."""
    if page.query:
        names = "&".join(f"{name}=" for name in page.names)
        yield f"/{'/'.join(page.segments)}?{names}"[:MAX_WHAT]
    yield page.pattern[:MAX_WHAT]


def places(part: Part, without: Parts) -> Iterator[str]:
    """Yield the places of claims about a part of a URL; `without` is the URL without it."""
    if part.kind == PARAMETER:
        yield "/" + "/".join(without.segments)[:MAX_WHAT]
    yield without._replace(query=()).pattern[:MAX_WHAT]


class ClaimBook(BoundedDict[Key, Claim]):
    """Claims by their keys; the keys don't say which host a claim is about."""

    def __init__(self, most: int = MAX_CLAIMS) -> None:
        super().__init__(most)
        self.path_parts: BoundedDict[Part, None] = BoundedDict(MAX_PATH_PARTS)
        """The parts of paths about which there is a claim."""
        self.names: BoundedDict[Part, None] = BoundedDict(MAX_PATH_PARTS)
        """The parameters about which there is a claim."""

    def __setitem__(self, key: Key, claim: Claim) -> None:
        super().__setitem__(key, claim)
        part = key.part
        if part.kind in WHOLE:
            return
        parts = self.names if part.kind in {PARAMETER, PATH_PARAMETER} else self.path_parts
        if part not in parts and len(parts) >= MAX_PATH_PARTS:
            del parts[min(parts, key=self._supports)]
        parts[part] = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the order of the parts: it is that in which they are taken from a URL."""
        make, arguments, _, *more = super().__reduce__()
        return make, arguments, {"path_parts": self.path_parts, "names": self.names}, *more

    def _supports(self, part: Part) -> int:
        """Return how many pages supported claims about a part, before one was in force."""
        claim = self.get(Key(ANYWHERE, part))
        return 0 if claim is None else claim.supports

    @property
    def in_force(self) -> list[Key]:
        """The claims in force that may withhold something."""
        return [key for key, claim in self.items() if claim.is_in_force and key.place]

    def is_in_force(self, key: Key) -> bool:
        """Whether a claim is in force."""
        claim = self.get(key)
        return claim is not None and claim.is_in_force

    def in_force_at(self, part: Part, without: Parts) -> Key | None:
        """Return the claim in force about a part of a URL; `without` is the URL without it."""
        keys = (Key(place, part) for place in places(part, without))
        return next(filter(self.is_in_force, keys), None)

    def tested(self, key: Key) -> Key:
        """Return the claim that counts a claim's tests: the general one while that is in force."""
        general = Key(ANYWHERE, key.part)
        return general if self.is_in_force(general) else key

    def summary(self, key: Key) -> Claim:
        """Return a copy of a claim, with the number of tests from the claim that counts them."""
        return replace(self[key], checks=self[self.tested(key)].checks)

    def has_seen(self, key: Key, page: Parts) -> bool:
        """Return whether a part of a URL had no effect there, or with many values anywhere."""
        here, general = self[key], self[self.tested(key)]
        values = key.part.values(page)
        return all(here.covers((value,)) or general.is_free(value) for value in values)

    def note(self, key: Key, pair: Pair, *, speaks_for: bool) -> list[Change]:
        """Note that a page supports or contradicts a claim; return claims that begin or end."""
        claim = self.get(key)
        if not speaks_for:
            ended = claim is not None and claim.contradict(pair)
            return [Change(key, claim, begins=False, pair=pair)] if claim and ended else []
        claim = self.about(key)
        begins = claim.support(pair, is_lent=self.tested(key) != key)
        return [Change(key, claim, begins=True, pair=pair)] if begins else []

    def about(self, key: Key) -> Claim:
        """Return a claim, which becomes the newest; make it if it is missing.

        A new claim replaces the one used longest ago that isn't in force, and never was.
        """
        if key not in self and len(self) >= self._most:
            idle = (
                each
                for used in (State.OPEN, State.ENDED, State.IN_FORCE)
                for each, claim in self.items()
                if claim.state is used
            )
            del self[next(idle)]
        return self.used(key, Claim)

    def dump(self) -> bytes:
        """Return the claims and their evidence, for other crawlers."""
        lines = [[key.place, *key.part, claim.dump()] for key, claim in self.items()]
        return zlib.compress(json.dumps(lines).encode(), 1)

    def add_others(self, dumps: Iterable[bytes]) -> list[Change]:
        """Add the knowledge of other crawlers; skip what can't be read."""
        changes: list[Change] = []
        for key, theirs in (each for dump in dumps for each in loaded(dump)):
            mine = self.get(key) or self.about(key)
            if mine.merge(theirs):
                pair = mine.example if mine.is_in_force else mine.counter
                changes.append(Change(key, mine, mine.is_in_force, pair or ("", "")))
        return changes


def loaded(dump: bytes) -> list[tuple[Key, Claim]]:
    """Return the claims from a dump of them; an empty list for anything else."""
    try:
        lines = json.loads(zlib.decompressobj().decompress(dump, MAX_DUMP))
        return [_loaded(line) for line in lines[:MAX_CLAIMS]]
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return []


def _loaded(line: list[Any]) -> tuple[Key, Claim]:
    match line:
        case [str(place), *written, list(claim)]:
            part = part_of(written)
            if len(place) + len(part.what) + len(part.by or "") <= 4 * MAX_WHAT:
                return Key(place, part), Claim.load(claim)
    raise ValueError("not a claim")
