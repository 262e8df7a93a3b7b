"""An audit: its lines, which ``crawl/audit.py`` writes, and their summary, with every drop.

The summary takes one pass, in the order of the lines. It holds only the line numbers of texts; the
few texts that are shown are read in a second pass. O(verdicts): some 300 bytes for a kept page,
600 for a drop.
"""

from __future__ import annotations

import json
import logging
import re
import zlib
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from sys import intern
from types import NoneType
from typing import Any, NamedTuple

from scrapy_neardup.claims.claim import pair_of
from scrapy_neardup.claims.part import part_of
from scrapy_neardup.claims.urlparts import pattern_of
from scrapy_neardup.errors import InputError
from scrapy_neardup.verdict import Decision

_log = logging.getLogger(__name__)

Entry = dict[str, Any]
"""A line of an audit, a verdict or an event such as ``orphaned``, with the keys of the file, page
ids as numbers, and the time as a POSIX time in seconds."""

_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("time", "page", "id", "verdict", "reason", "action", "difference"), str),
    **dict.fromkeys(("kind", "showed", "followed"), str),
    **dict.fromkeys(("version", "spider", "store", "preset", "host", "place", "claim"), str),
    **dict.fromkeys(("of", "of_id", "detail", "rule", "found", "title"), (str, NoneType)),
    **dict.fromkeys(("text", "paths"), (str, NoneType)),
    **dict.fromkeys(("distance", "tokens", "links"), (int, NoneType)),
    **dict.fromkeys(("resemblance", "threshold"), (float, int, NoneType)),
    **dict.fromkeys(("headings", "learnt", "omitted"), (list, NoneType)),
    **dict.fromkeys(("pages", "rules", "part", "selectors", "changing"), list),
    **dict.fromkeys(("example", "counter"), (list, NoneType)),
    **dict.fromkeys(("count", "streak", "ended", "covered", "withheld", "checks"), int),
    "settings": dict,
}
"""Key -> type of its value, if the key is present."""

_KEYS = {
    event: {"time", *keys.split()}
    for event, keys in {
        None: "page id verdict reason action",
        "orphaned": "of_id count pages",
        "differ": "of_id difference",
        "skipped": "page rules",
        "experiment": "kind page of showed followed",
        "refetched": "page place selectors changing",
        "claim": "host place part claim streak ended covered withheld checks",
        "begun": "version spider store preset settings",
    }.items()
}
"""Event (None for a verdict) -> keys that its line must have."""

_DECISIONS = set(Decision)

MAX_TEXT = 1 << 26
"""Maximum size in bytes of a decompressed text."""


def entries(lines: Iterable[bytes], name: str) -> Iterator[Entry]:
    """Yield the entries of an audit from its lines in UTF-8; errors call it `name`.

    Lines that aren't JSON are left out with a warning, because a crash of the machine may have cut
    one; but the first one is an error.
    """
    number = torn = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            if number == 1:
                raise InputError(
                    f"{name}: not an audit, its first line is no JSON object"
                ) from None
            torn += 1
            continue
        if (fault := _fault(entry) or _converted(entry)) is not None:
            raise InputError(
                f"{name}, line {number}: not a line of an audit ({fault}); the setting"
                " NEARDUP_AUDIT names the file that a crawl of this version writes"
            )
        yield entry
    if not number:
        raise InputError(
            f"{name}: is empty; the setting NEARDUP_AUDIT fills it while a crawl runs"
        )
    if torn:
        _log.warning("%s: left out lines that a crash of the machine cut short: %d", name, torn)


def unpacked(text: str) -> str:
    """Return a text of an audit, cut off at `MAX_TEXT` bytes; ``""`` for an invalid value."""
    try:
        packed = b64decode(text, validate=True)
        return zlib.decompressobj().decompress(packed, MAX_TEXT).decode(errors="replace")
    except (ValueError, zlib.error):
        return ""


def _fault(entry: object) -> str | None:
    """Return why an entry is wrong, or None."""
    if not isinstance(entry, dict):
        return "no JSON object"
    event = entry.get("event")
    if not isinstance(event, str | None) or event not in _KEYS:
        return f"unknown event {str(event)[:40]!r}"
    if missing := _KEYS[event] - entry.keys():
        return f'no "{min(missing)}"'
    for key, value in entry.items():
        if not isinstance(value, _KINDS.get(key, object)):
            return f'"{key}" is {str(value)[:40]!r}'
    if event is None and entry["verdict"] not in _DECISIONS:
        return f"unknown verdict {entry['verdict'][:40]!r}"
    return None


def _converted(entry: Entry) -> str | None:
    """Convert ids and the time into numbers; return why they, or a claim, are wrong, or None."""
    try:
        entry["time"] = datetime.fromisoformat(entry["time"]).timestamp()
        for key in ("id", "of_id"):
            if entry.get(key) is not None:
                entry[key] = int(entry[key], 16)
        if entry.get("event") == "claim":
            part_of(entry["part"])
            pair_of(entry.get("example"))
    except (ValueError, OverflowError) as error:
        return str(error)
    return None


MAX_TITLE = 200
"""Maximum number of shown characters of a title."""

LISTED = 1_000
"""Maximum number of listed addresses of one kind: orphans, unjudged pages."""

KEPT, REPEATED, UNJUDGED = range(3)
"""Outcomes of a page, as indexes of numbers of pages."""


class PageLine(NamedTuple):
    """A page, from its own line."""

    page: str
    title: str
    headings: str
    tokens: int
    line: int
    text_size: int


@dataclass(slots=True)
class Drop:
    """A page that repeats another one, whatever the action."""

    own: PageLine
    of: str
    of_id: int
    distance: int | None
    resemblance: float | None
    threshold: float | None
    rule: str
    found: str
    learnt: tuple[str, ...]
    detail: str
    action: str


class Summary:
    """The summary of the lines of one or more audits.

    Verdicts are counted by some of their keys; equal titles are one object, because they repeat.
    `drops` are all duplicates in the order of the audit, `kept` the pages that repeat no other by
    their ids, `crawls` the first lines of crawls, `orphans` the pages dropped for one that failed
    afterwards. `differences`: page id -> how the pages that repeat it differ, if they differ
    little. `links`: number of addresses that only dropped pages link to, as the crawl counted
    them. `asked` are the numbers of experiments by kind. `refetched` is the number of pages that
    were requested twice, `changing` the number of them on which a selector names what changed.
    `claims` are the lines about claims.
    """

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        self.drops: list[Drop] = []
        self.kept: dict[int, PageLine] = {}
        self.crawls: list[Entry] = []
        self.claims: list[Entry] = []
        self.orphans: list[str] = []
        self.orphaned = 0
        self.differences: dict[int, str] = {}
        self.links: int | None = None
        self.asked: Counter[str] = Counter()
        self.refetched = 0
        self.changing: Counter[str] = Counter()
        self._urls: list[str] = []
        self._outcomes = bytearray()

    def add(self, entry: Entry, line: int) -> None:
        """Add a line of an audit; `line` is its number over all files."""
        match entry.get("event"):
            case None:
                self._verdict(entry, line)
            case "begun" if len(self.crawls) < LISTED:
                self.crawls.append(entry)
            case "claim":
                self.claims.append(entry)
            case "differ" if len(self.differences) < LISTED:
                self.differences[entry["of_id"] or 0] = entry["difference"][:MAX_TITLE]
            case "orphaned":
                self.orphaned += entry["count"]
                self.orphans += map(str, entry["pages"][: LISTED - len(self.orphans)])
            case "experiment":
                self.asked[intern(entry["kind"][:MAX_TITLE])] += 1
            case "refetched":
                self.refetched += 1
                self.asked["refetch"] += 1
                if len(self.changing) < LISTED:
                    self.changing.update({str(name)[:MAX_TITLE] for name in entry["selectors"]})

    def ignorable(self) -> list[tuple[str, int]]:
        """Return selectors with a class or id of parts that change, and on how many pages they do.

        Selectors for one page only aren't reliable, and left out. Most pages first.
        """
        return [
            (selector, pages)
            for selector, pages in self.changing.most_common()
            if pages > 1 and not {".", "#"}.isdisjoint(selector)
        ]

    def kept_of(self, drop: Drop) -> PageLine:
        """Return the page that a drop repeats, from the page's line or else from the drop's."""
        return self.kept.get(drop.of_id) or PageLine(drop.of, "", "", 0, -1, 0)

    @cached_property
    def hosts(self) -> dict[str, list[int]]:
        """Scheme and host -> numbers of kept, repeated and unjudged pages."""
        return self._counted([split_site(url)[0] for url in self._urls])

    @cached_property
    def patterns(self) -> dict[str, list[int]]:
        """Pattern -> numbers of kept, repeated and unjudged pages; after all lines were added."""
        return self._counted(self._patterns)

    @cached_property
    def drop_patterns(self) -> list[str]:
        """The pattern of each of `drops`; after all lines were added."""
        both = zip(self._patterns, self._outcomes, strict=True)
        return [pattern for pattern, outcome in both if outcome == REPEATED]

    @cached_property
    def _patterns(self) -> list[str]:
        return [*map(pattern_of, self._urls)]

    def _counted(self, names: list[str]) -> dict[str, list[int]]:
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for name, outcome in zip(names, self._outcomes, strict=True):
            counts[name][outcome] += 1
        return counts

    def _verdict(self, entry: Entry, line: int) -> None:
        page, page_id, decision = entry["page"], entry["id"], entry["verdict"]
        self.decisions[decision] += 1
        self.actions[entry["action"]] += 1
        headings = " · ".join(map(str, (entry.get("headings") or ())[:20]))
        own = PageLine(
            page,
            intern((entry.get("title") or "")[:MAX_TITLE]),
            intern(headings[:MAX_TITLE]),
            entry.get("tokens") or 0,
            line,
            len(entry.get("text") or ""),
        )
        outcome = KEPT
        if decision == Decision.DUPLICATE:
            outcome = REPEATED
            self._duplicate(entry, own)
        elif decision == Decision.UNJUDGED:
            outcome = UNJUDGED
            self.unjudged[intern(entry["reason"])] += 1
        elif decision == Decision.NEW or page_id not in self.kept:
            self.kept[page_id] = own
        self._urls.append(page)
        self._outcomes.append(outcome)

    def _duplicate(self, entry: Entry, own: PageLine) -> None:
        of_id = entry.get("of_id") or 0
        if (links := entry.get("links")) is not None:
            self.links = (self.links or 0) + links
        self.drops.append(
            Drop(
                own=own,
                of=intern(entry.get("of") or f"page {of_id:016x}"),
                of_id=of_id,
                distance=entry.get("distance"),
                resemblance=_resemblance(entry.get("resemblance")),
                threshold=_resemblance(entry.get("threshold")),
                rule=intern(entry.get("rule") or entry["reason"]),
                found=intern(entry.get("found") or ""),
                learnt=tuple(intern(str(rule)[:80]) for rule in (entry.get("learnt") or ())[:16]),
                detail=intern((entry.get("detail") or "")[:MAX_TITLE]),
                action=intern(entry["action"]),
            )
        )


_SITE = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)


def split_site(url: str) -> tuple[str, str]:
    """Return scheme and host of `url`, and the rest; ``("", url)`` for a path."""
    found = _SITE.match(url)
    return (found[0], url[found.end() :]) if found else ("", url)


def _resemblance(number: float | None) -> float | None:
    """Return `number` if it can be a resemblance."""
    return number if number is not None and 0 <= number <= 1 else None
