"""The keys of claims about URLs: a place of a host, and a part of its URLs."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from scrapy_neardup.claims.claim import Claim
from scrapy_neardup.claims.part import KINDS, MAX_WHAT, PARAMETER, PATTERN, SPENT, Part
from scrapy_neardup.claims.urlparts import Parts

ANYWHERE: Final = ""
"""The place of a claim about all places of a host."""

MAX_CLAIMS: Final = 256
"""Maximum number of claims about a host; those used last stay."""
TOPIC: Final = "urls"
"""First word of the topics under which crawlers exchange the claims about hosts."""
MAX_DUMP: Final = 256 << 10
"""Maximum size of a host's unpacked dump in bytes."""

ALL: Final = (Part(PATTERN), Part(SPENT))
"""The parts of claims about all pages of a pattern."""


class Key(NamedTuple):
    """The key of a claim: its place, and the part of URLs."""

    place: str
    part: Part

    def __str__(self) -> str:
        if self.part.kind in {PATTERN, SPENT}:
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


def dumped(claims: Mapping[Key, Claim]) -> bytes:
    """Return claims and their evidence, for other crawlers."""
    lines = [[key.place, *key.part, claim.dump()] for key, claim in claims.items()]
    return zlib.compress(json.dumps(lines).encode(), 1)


def loaded(dump: bytes) -> list[tuple[Key, Claim]]:
    """Return the claims from the output of `dumped`; an empty list for anything else."""
    try:
        lines = json.loads(zlib.decompressobj().decompress(dump, MAX_DUMP))
        return [_loaded(line) for line in lines[:MAX_CLAIMS]]
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return []


def _loaded(line: list[Any]) -> tuple[Key, Claim]:
    match line:
        case [
            str(place), str(kind), str(what), None | str() as by, int(at), list(claim)
        ] if kind in KINDS and len(place) + len(what) + len(by or "") <= 4 * MAX_WHAT:  # fmt: skip
            return Key(place, Part(kind, what, by, at)), Claim.load(claim)
    raise ValueError("not a claim")
