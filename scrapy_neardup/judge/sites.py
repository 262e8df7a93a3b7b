"""The knowledge about each site, its exchange between crawlers, and its dump for later runs.

`Site.dump` serves two purposes: other crawlers get the part that they need, and the crawl's
next run gets everything, so that a paused crawl judges like one that wasn't paused. Data from
the store may be damaged, or written by a stranger; unreadable parts are skipped.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.boilerplate import MAX_STATE, Boilerplate
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import NOTHING, Excluded, Folders, Knowledge, SiteRule
from scrapy_neardup.judge.records import Records
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.titles import Titles
from scrapy_neardup.settings.catalogue import LEARNABLE

MAX_STATES: Final = 64 << 20
"""Maximum size in bytes of what a crawl leaves for its next run, for all sites."""

_HELD: Final = 192 << 20
"""Memory in bytes above which the sites used longest ago are forgotten."""
_SITE_SHARE: Final = 0.25
"""Maximum share of that for one site; above it folders used longest ago are forgotten."""
_MEASURED: Final = 32
"""Number of pages after which memory is measured."""
_ENTRY_BYTES: Final = 256
_MAX_SITES: Final = 1024
"""Maximum number of sites; those used last stay."""
_MAX_DUMP: Final = 4 << 20
"""Maximum size in bytes of another crawler's dump of a site, as text."""
_MAX_STATE: Final = 2 * MAX_STATE + _MAX_DUMP
"""Maximum size in bytes of a site's state from an earlier run, as text."""
_MAX_PAGES: Final = 1024
"""Maximum number of pages of a site that are remembered as learnt."""

_MAX_NAME: Final = 64

_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, IndexError)


class Site:
    """The knowledge about one site.

    `member` is the name under which this crawl posts its knowledge about the site;
    `name` is that of the site (`scrapy_neardup.urls.site`).
    """

    def __init__(self, member: str, name: str = "") -> None:
        self.member, self.name = member, name
        self.folders = Folders()
        self.changing = Changing(self.folders)
        self.records = Records(self.folders, self.changing)
        self.rules: tuple[SiteRule, ...] = (
            Boilerplate(self.folders),
            self.changing,
            Titles(self.folders),
            self.records,
        )
        self.reported: set[str] = set()
        """Names of the rules that the log has mentioned."""
        self._taught: BoundedDict[int, None] = BoundedDict(_MAX_PAGES)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, rounded up. O(folders)."""
        entries = 1 + len(self._taught) + len(self.folders)
        return _ENTRY_BYTES * entries + sum([rule.nbytes for rule in self.rules])

    def is_due(self, page_id: int) -> bool:
        """Return whether nothing was learnt from a page yet, and note that it is now.

        A page is judged more than once if it was withdrawn, or waited for one that was.
        """
        is_due = page_id not in self._taught
        self._taught[page_id] = None
        return is_due

    def learn(
        self, folders: tuple[int, ...], evidence: Evidence, text: Text | None
    ) -> list[SiteRule]:
        """Learn from a kept page in these folders; return the rules with new knowledge."""
        self.folders.learn(folders)
        return [rule for rule in self.rules if rule.learn(evidence, text)]

    def shrink(self, most: int) -> None:
        """Forget folders until about `most` bytes are used."""
        for rule in self.rules:
            if isinstance(rule, Boilerplate):
                rule.shrink(most)

    def dump(self, *, complete: bool = False) -> bytes:
        """Return the knowledge that other crawlers need, or all of it, for the next run."""
        parts = {rule.name: rule.dump(complete=complete) for rule in self.rules}
        parts |= {"member": self.member, "folders": self.folders.dump()}
        if complete:
            parts["taught"] = list(self._taught)
        return zlib.compress(json.dumps(parts).encode(), 1)

    def restore(self, dumped: bytes) -> bool:
        """Continue from a dump; return whether all of it could be read."""
        parts = _load(dumped, _MAX_STATE)
        return parts is not None and self._restore(parts)

    def _restore(self, parts: dict[str, Any]) -> bool:
        try:
            self.member = _name(parts["member"])
            self._taught.update(dict.fromkeys(map(int, parts.get("taught", ()))))
            self.folders.restore(parts["folders"])
            for rule in self.rules:
                rule.restore(parts[rule.name])
        except _UNREADABLE:
            return False
        return True

    def add_others(self, dumps: Iterable[bytes]) -> int:
        """Replace the knowledge of other crawlers by newer knowledge.

        A forgotten site continues from this crawl's own last dump. Return the number of
        unreadable dumps and parts, which are skipped.
        """
        found = [_load(each, _MAX_DUMP) for each in dumps if each]
        read = [parts for parts in found if parts is not None]
        for own in (parts for parts in read if parts.get("member") == self.member):
            if not len(self.folders):
                self._restore(own)
        others = [parts for parts in read if parts.get("member") != self.member]
        skipped = len(found) - len(read)
        skipped += _take(self.folders.add_others, "folders", others)
        return skipped + sum([_take(rule.add_others, rule.name, others) for rule in self.rules])


def _name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_NAME:
        raise ValueError("not the name of a crawl")
    return value


def _take(add: Callable[[list[Any]], None], name: str, read: list[dict[str, Any]]) -> int:
    """Add the readable dumps of one name; return the number of others."""
    dumps = [parts[name] for parts in read if name in parts]
    try:
        add(dumps)
    except _UNREADABLE:
        readable = [each for each in dumps if _is_readable(add, each)]
        add(readable)
        return len(dumps) - len(readable)
    return 0


def _is_readable(add: Callable[[list[Any]], None], dump: Any) -> bool:
    try:
        add([dump])
    except _UNREADABLE:
        return False
    return True


def _load(dump: bytes, most: int) -> dict[str, Any] | None:
    try:
        parts = json.loads(zlib.decompressobj().decompress(dump, most))
    except (zlib.error, ValueError, RecursionError):
        return None
    return parts if isinstance(parts, dict) else None


class Sites(Knowledge):
    """All sites that a crawl meets, by the hashes of their hosts (`Evidence.host`).

    Only the rules whose names are in `learns` count. Above `held` bytes sites are forgotten;
    memory may be somewhat larger.
    """

    def __init__(self, learns: Collection[str] = LEARNABLE, held: int = _HELD) -> None:
        self._learns = frozenset(learns)
        self._member = secrets.token_hex(4)
        self._sites: BoundedDict[int, Site] = BoundedDict(_MAX_SITES)
        self._held = held
        self._sizes: dict[int, int] = {}
        self._changed: set[int] = set()
        self._pages = 0

    def get(self, host: int) -> Site | None:
        """The site of a page at hand, if it is known."""
        if (site := self._sites.get(host)) is None:
            return None
        self._sites.move_to_end(host)
        self._pages += 1
        if not self._pages % _MEASURED:
            self._forget()
        self._changed.add(host)  # by whoever has asked for it
        return site

    def add(self, host: int, name: str) -> Site:
        """Begin with an unknown site."""
        self._changed.add(host)
        site = self._sites[host] = Site(self._member, name)
        return site

    def exclude(self, evidence: Evidence) -> Excluded:
        """See `Knowledge.exclude`."""
        found = NOTHING
        if (site := self._sites.get(evidence.host)) is not None:
            for rule in site.rules:
                more = rule.exclude(evidence) if rule.name in self._learns else NOTHING
                if more is not NOTHING:
                    found = more if found is NOTHING else found.plus(more)
        return found

    def has_few_pages(self, ours: Evidence, theirs: Evidence) -> bool:
        """See `Knowledge.has_few_pages`."""
        if ours.host != theirs.host:
            return any(map(self._has_few_pages, (ours, theirs)))
        if (site := self._sites.get(ours.host)) is None:
            return True
        common = ours.host
        chains = [site.folders.chain(each.host, each.folder) for each in (ours, theirs)]
        for one, other in zip(*chains, strict=False):
            if one == other:
                common = one
        return site.folders.has_few_pages(common)

    def _has_few_pages(self, evidence: Evidence) -> bool:
        site = self._sites.get(evidence.host)
        return site is None or site.folders.has_few_pages(evidence.host)

    def _forget(self) -> None:
        """Forget sites above the limits, except for the last one. O(sites, folders changed)."""
        for host in self._changed & self._sites.keys():
            site = self._sites[host]
            site.shrink(int(_SITE_SHARE * self._held))
            self._sizes[host] = len(site.name) + site.nbytes
        self._changed.clear()
        self._sizes = {host: self._sizes[host] for host in self._sites if host in self._sizes}
        held = sum(self._sizes.values())
        while held > self._held and len(self._sites) > 1:
            host, _ = self._sites.popitem(last=False)
            held -= self._sizes.pop(host, 0)

    def __iter__(self) -> Iterator[Site]:
        """The remembered sites, the one used last first."""
        return reversed(list(self._sites.values()))
