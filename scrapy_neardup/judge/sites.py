"""The knowledge about each site, its exchange between crawlers, and its dump for later runs.

`Site.dump` serves two purposes: other crawlers get the part that they need, and the crawl's
next run gets everything, so that a paused crawl judges like one that wasn't paused. Data from
the store may be damaged, or written by a stranger; unreadable parts are skipped.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.judge.boilerplate import Boilerplate
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import (
    ENTRY_BYTES,
    MAX_STATE,
    NOTHING,
    UNREADABLE,
    Excluded,
    Folders,
    PageGroups,
    SiteRule,
)
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.records import Records
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.titles import Titles
from scrapy_neardup.settings.catalogue import LEARNABLE

MAX_STATES: Final = 64 << 20
"""Maximum size in bytes of what a crawl leaves for its next run, for all sites."""

_HELD: Final = 192 << 20
"""Memory in bytes above which the sites used longest ago are forgotten."""
_SITE_SHARE: Final = 0.25
"""Maximum share of `_HELD` for one table of a site, which then forgets the oldest folders."""
_MEASURED: Final = 32
"""Number of pages after which memory is measured."""
_MAX_SITES: Final = 1024
"""Maximum number of sites; those used last stay."""
_MAX_DUMP: Final = 4 << 20
"""Maximum size in bytes of another crawler's dump of a site, as text."""
_MAX_STATE: Final = 4 * MAX_STATE + _MAX_DUMP
"""Maximum size in bytes of a site's state from an earlier run, as text."""
_MAX_PAGES: Final = 1024
"""Maximum number of pages of a site that are remembered as learnt."""

_MAX_NAME: Final = 64


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
        self.rules: tuple[SiteRule[Any], ...] = (
            Boilerplate(self.folders),
            self.changing,
            Titles(self.folders),
            self.records,
        )
        self._tables: tuple[PageGroups[Any], ...] = (
            self.folders,
            self.records.editions,
            *self.rules,
        )
        self.nbytes = 0
        """Memory in bytes, rounded up, when it was measured last."""
        self.uses = self.due = 0
        """Number of times that `Sites.get` has returned it, and that at which it is measured."""
        self.reported: set[str] = set()
        """Names of the rules that the log has mentioned."""
        self._taught: BoundedDict[int, None] = BoundedDict(_MAX_PAGES)

    def is_due(self, page_id: int) -> bool:
        """Return whether nothing was learnt from a page yet, and note that it now is.

        A page is judged more than once if it was withdrawn, or waited for a page that was.
        """
        is_due = page_id not in self._taught
        self._taught[page_id] = None
        return is_due

    def learn(
        self, folders: tuple[int, ...], evidence: Evidence, text: Text
    ) -> list[SiteRule[Any]]:
        """Learn from a kept page in these folders; return the rules with new knowledge."""
        self.folders.learn(folders)
        return [rule for rule in self.rules if rule.learn(evidence, text)]

    def shrink(self, most: int) -> None:
        """Forget folders until each table has at most `most` bytes, and note the total size.

        Each entry takes a microsecond, so it is `due` again after a quarter as many uses.
        """
        entries = ENTRY_BYTES * len(self._taught) + len(self.name)
        self.nbytes = entries + sum([table.shrink(most) for table in self._tables])
        self.due = self.uses + sum([len(table.own) for table in self._tables]) // 4

    def dump(self, *, complete: bool = False) -> bytes:
        """Return the knowledge that other crawlers need, or all of it, for the next run."""
        parts: dict[str, Any] = {
            table.name: table.dump(complete=complete) for table in self._tables
        }
        parts |= {"member": self.member, "taught": list(self._taught) if complete else []}
        return zlib.compress(json.dumps(parts).encode(), 1)

    def restore(self, dumped: bytes) -> bool:
        """Continue from a dump; return whether all of it could be read."""
        try:
            self._restore(_load(dumped, _MAX_STATE))
        except UNREADABLE:
            return False
        return True

    def _restore(self, parts: dict[str, Any]) -> None:
        if not isinstance(member := parts["member"], str) or len(member) > _MAX_NAME:
            raise ValueError("not the name of a crawl")
        self.member = member
        self._taught.update(dict.fromkeys(map(int, parts["taught"])))
        for table in self._tables:
            table.restore(parts[table.name])

    def add_others(self, dumps: Iterable[bytes]) -> int:
        """Replace the knowledge of other crawlers by newer knowledge.

        A forgotten site continues from this crawl's own last dump. Return the number of
        unreadable dumps and parts, which are skipped.
        """
        others, skipped = [], 0
        for dump in filter(None, dumps):
            try:
                parts = _load(dump, _MAX_DUMP)
                if parts.get("member") != self.member:
                    others.append(parts)
                elif not self.folders.own:
                    self._restore(parts)
            except UNREADABLE:
                skipped += 1
        for table in self._tables:
            skipped += table.add_others(
                [each[table.name] for each in others if table.name in each]
            )
        return skipped


def _load(dump: bytes, most: int) -> dict[str, Any]:
    try:
        parts = json.loads(zlib.decompressobj().decompress(dump, most))
    except (zlib.error, RecursionError) as error:
        raise ValueError("not a dump") from error
    if not isinstance(parts, dict):
        raise TypeError("not the dump of a site")
    return parts


class Sites:
    """All sites that a crawl meets, by the hashes of their hosts (`Evidence.host`).

    Only the rules whose names are in `learns` count. Above `_HELD` bytes sites are forgotten;
    memory may be somewhat larger.
    """

    def __init__(self, learns: Collection[str] = LEARNABLE) -> None:
        self._learns = frozenset(learns)
        self._member = secrets.token_hex(4)
        self._sites: OrderedDict[int, Site] = OrderedDict()
        self.forgotten: list[Site] = []
        """Sites that were forgotten, until the knowledge about them is in the store."""
        self.version = 0
        """Number of times that something was learnt or heard."""
        self._changed: set[int] = set()
        self._pages = 0

    def get(self, host: int) -> Site | None:
        """The site of a page at hand, if it is known."""
        if (site := self._sites.get(host)) is None:
            return None
        self._sites.move_to_end(host)
        site.uses += 1
        self._pages += 1
        if not self._pages % _MEASURED:
            self._forget()
        self._changed.add(host)  # the caller has the site
        return site

    def add(self, host: int, name: str) -> Site:
        """Begin with an unknown site."""
        if len(self._sites) == _MAX_SITES:
            self.forgotten.append(self._sites.popitem(last=False)[1])
        self._changed.add(host)
        site = self._sites[host] = Site(self._member, name)
        return site

    def exclude(self, evidence: Evidence) -> Excluded:
        """Return the parts of a page that don't count, by the knowledge about its site."""
        found = NOTHING
        if (site := self._sites.get(evidence.host)) is not None:
            for rule in site.rules:
                more = rule.exclude(evidence) if rule.name in self._learns else NOTHING
                if more is not NOTHING:
                    found = more if found is NOTHING else found.plus(more)
        return found

    def has_few_pages(self, ours: Evidence, theirs: Evidence) -> bool:
        """Return whether too few pages are known to recognise the boilerplate of two pages.

        This is so if their deepest common folder has few kept pages; for pages of two hosts,
        if either host has few. A folder that only another crawler has met may be beside ours.
        """
        if ours.host != theirs.host:
            return any(map(self._has_few_pages, (ours, theirs)))
        if (site := self._sites.get(ours.host)) is None:
            return True
        common = ours.host
        own, other = (site.folders.chain(each.host, each.folder) for each in (ours, theirs))
        if other[-1] != theirs.folder:
            other = own[:-1]
        for one, at_other in zip(own, other, strict=False):
            if one == at_other:
                common = one
        return site.folders.has_few_pages(common)

    def _has_few_pages(self, evidence: Evidence) -> bool:
        site = self._sites.get(evidence.host)
        return site is None or site.folders.has_few_pages(evidence.host)

    def _forget(self) -> None:
        """Forget sites above the limits, except for the last one. O(sites + measured entries)."""
        for site in [self._sites[host] for host in self._changed & self._sites.keys()]:
            if site.uses >= site.due:
                site.shrink(int(_SITE_SHARE * _HELD))
        self._changed.clear()
        held = sum([site.nbytes for site in self._sites.values()])
        while held > _HELD and len(self._sites) > 1:
            _, site = self._sites.popitem(last=False)
            held -= site.nbytes
            self.forgotten.append(site)

    def __iter__(self) -> Iterator[Site]:
        """The remembered sites, the one used last first."""
        return reversed(list(self._sites.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything on which a comparison depends besides the two pages."""

    knowledge: Sites = field(default_factory=Sites)
    parameters: Parameters = field(default_factory=Parameters)
    prefers_canonical: bool = False
    """Whether a page doesn't repeat another one that names it as its canonical page."""


NOTHING_KNOWN: Final = Context()
