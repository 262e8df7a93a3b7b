"""The URLs of one host, and the claims about them, which are learnt from verdicts.

A host takes some 300 kB of memory, 2 MB at most; with ten pages some 2 kB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.claim import Change, Pair
from scrapy_neardup.claims.claimbook import (
    ALL,
    ANYWHERE,
    MAX_CLAIMS,
    ClaimBook,
    Key,
    patterns,
    places,
)
from scrapy_neardup.claims.knownurls import KnownUrls
from scrapy_neardup.claims.part import MAX_WHAT, PATTERN, SPENT, Part, difference, parts_of
from scrapy_neardup.claims.urlparts import Parts

MAX_TARGETS: Final = 4
"""Maximum number of pages that all pages of a pattern may repeat for a claim about the pattern."""
_CLAIM_BYTES: Final = 600
_VALUE_BYTES: Final = 36


class Known(NamedTuple):
    """The known page onto which claims map a URL."""

    keys: tuple[Key, ...]
    """The claims, all of them in force."""
    content: int
    tests: tuple[int, ...] = ()
    """Number of pages that had tested each claim when a request was withheld."""


class Host:
    """One host, with and without ``www.``."""

    __slots__ = ("_known", "_targets", "_thirds", "claims", "pages")

    def __init__(self) -> None:
        self.pages = 0
        """Number of judged pages; see `Hosts.met`."""
        self.claims = ClaimBook()
        self._known = KnownUrls()
        self._targets: BoundedDict[str, dict[int, None]] = BoundedDict(MAX_CLAIMS)
        """Pattern -> contents that its pages have repeated."""
        self._thirds: BoundedDict[int, None] = BoundedDict(MAX_CLAIMS)
        """Contents that pages have repeated although claims had predicted other contents."""

    @property
    def nbytes(self) -> int:
        """Upper bound of the memory in bytes."""
        values = sum([len(claim.values) for claim in self.claims.values()])
        return self._known.nbytes + _CLAIM_BYTES * len(self.claims) + _VALUE_BYTES * values

    def find(self, page: Parts, acts: Callable[[Key], bool] = lambda _: True) -> Known | None:
        """Return the known page onto which claims in force map a URL, or None.

        Claims about all pages of a pattern come first, if they act. A claim maps no URL that lacks
        its part: such an original may have links that printed pages lack, or show another page
        than the URL with a parameter. O(parts).
        """
        if claimed := tuple(filter(acts, self.patterns(page))):
            return Known(claimed[:1], 0)
        return self._mapped(*self.apply(page))

    def _mapped(self, canonical: Parts, used: tuple[Key, ...]) -> Known | None:
        """Return the known page onto which the claims `used` map a URL."""
        shown = (each for key in used for each in self._known.relatives(key.part, canonical))
        content = next(shown, None)
        return None if content is None else Known(used, content)

    def patterns(self, page: Parts) -> tuple[Key, ...]:
        """Return the claims in force about all pages of a URL's pattern."""
        keys = (Key(place, part) for part in ALL for place in patterns(page))
        return tuple(filter(self.claims.is_in_force, keys))

    def repeats(self, place: str) -> bool:
        """Return whether pages of a pattern have repeated pages that this crawl knows."""
        return place in self._targets

    def knows(self, page: Parts) -> bool:
        """Return whether this very URL is known."""
        return self._known.is_fetched(page)

    def apply(self, page: Parts) -> tuple[Parts, tuple[Key, ...]]:
        """Return a URL without the parts that claims in force are about, and these claims."""
        used = []
        for part in (*self.claims.path_parts, *parts_of(page)):
            without = part.without(page)
            if (
                without != page
                and (key := self.claims.in_force_at(part, without)) is not None
                and self.claims.has_seen(key, page)
            ):
                page = without
                used.append(key)
        return page, tuple(used)

    # Learning

    def learn(
        self, page: Parts, content: int, *, is_new: bool, match: Parts | None = None
    ) -> tuple[list[Change], tuple[Key, ...]]:
        """Learn from a page that was judged, new or a duplicate.

        `content` is the 24-bit number of its content: its own if it is new, else that of the page
        that it repeats, whose URL is `match`, if known. Return the claims that begin or end, and
        the claims in force that had mapped it onto a known page of the same content.
        """
        if self.knows(page) and not is_new:  # such as a record that was dropped before
            return [], ()
        if match is not None and (shown := self._known.shows(match)) is not None:
            content = shown
        canonical, used = self.apply(page)
        claimed = self.patterns(page)[:1]
        found = Known(claimed, 0) if claimed else self._mapped(canonical, used)
        spared = self._spared(page, used, content) if is_new else set()
        changes: list[Change] = []
        agrees = bool(claimed)
        for part, without, other in self._compared(canonical, used):
            agrees |= other == content
            if (says := other == content) or (is_new and part not in spared):
                pair = self._fetched(page, part, without, other, match)
                changes += self._compare(page, part, without, pair, speaks_for=says)
        if found is not None and not (is_new or agrees or content in self._thirds):
            # It repeats a third page, so nothing would have been lost without it. Each such page
            # counts only once: many URLs may show one page in place of others (a busy server).
            self._thirds[content] = None
            pair = (page.url, "" if match is None else match.url)
            for key in used:
                self.claims[self.claims.tested(key)].support(pair)
        if match is not None:
            changes += self._compare_path(page, canonical, match)
        url = "" if match is None else match.url
        changes += self._of_pattern(page, content, url, is_new=is_new)
        self._forget_ended(changes)
        self.add(page, content)
        return changes, () if found is None or is_new else found.keys

    def contradicted(self, page: Parts, content: int) -> Iterator[tuple[Parts | None, int]]:
        """Yield URL and content of each known page that claims in force predicted for a new page.

        `content` is that of the new page. A URL that differs in a single part is preferred. It is
        None if the known page has another value of the part.
        """
        canonical, used = self.apply(page)
        spared = self._spared(page, used, content)
        for part, without, other in self._compared(canonical, used):
            keys = (Key(place, part) for place in (ANYWHERE, *places(part, without)))
            if part not in spared and any(map(self.claims.is_in_force, keys)):
                known = next(filter(self.knows, (part.without(page), without)), None)
                yield known, other

    def add(self, page: Parts, content: int) -> None:
        """Note what a URL shows."""
        self._known.add(page, self.apply(page)[0], content)

    def spends(self, page: Parts, *, is_stale: bool, match: str) -> list[Change]:
        """Learn whether a page brought anything new to the host."""
        pair = (page.url, match)
        return [
            change
            for place in patterns(page)
            for change in self.claims.note(Key(place, Part(SPENT)), pair, speaks_for=is_stale)
        ]

    def contradict(self, keys: Iterable[Key], pair: Pair) -> list[Change]:
        """End claims because a page that they cover leads to a new one."""
        notes = (self.claims.note(key, pair, speaks_for=False) for key in keys)
        changes = list(chain.from_iterable(notes))
        self._forget_ended(changes)
        return changes

    def is_variant(self, page: Parts) -> bool:
        """Return whether a URL differs from a known one only in what has no effect elsewhere."""
        canonical, used = self.apply(page)
        claims = (
            (self.claims.get(Key(ANYWHERE, part)), part.values(page))
            for part, *_ in self._compared(canonical, used)
        )
        return any(
            claim is not None and claim.is_in_force and claim.covers(values)
            for claim, values in claims
        )

    def forget(self, page: Parts) -> int | None:
        """Forget the content of a URL, and with it all URLs that have it; return its number."""
        return self._known.forget(page)

    def _compared(self, page: Parts, used: Iterable[Key]) -> Iterator[tuple[Part, Parts, int]]:
        """Yield each part in which alone a page differs from a known one, and the known content.

        With each comes the URL without the part. `page` is without the parts of the claims `used`.
        """
        parts = {key.part: page for key in used}
        # If the page is known without the parts of claims, it has the others with the same values.
        is_known = used and self._known.shows(page) is not None
        for part in () if is_known else (*self.claims.path_parts, *parts_of(page)):
            if (without := part.without(page)) != page:
                parts[part] = without
        for part, without in parts.items():
            for shown in self._known.relatives(part, without):
                yield part, without, shown
        for part in () if used else self.claims.names:
            if part not in parts and part.without(page) == page:
                with_part = self._known.fetched_with(part, page)
                if with_part is not None:
                    yield part, page, with_part

    def _spared(self, page: Parts, used: Iterable[Key], content: int) -> set[Part]:
        """Return the parts in force that a new page doesn't contradict, because another is wrong.

        If several parts together map it onto another content, those are wrong by which alone it
        differs from a page of another content. If there are none, the part is wrong that has ended
        most often on this host, then the least tested one.
        """
        claims = {key.part: self.claims[self.claims.tested(key)] for key in used}
        if not claims:
            return set()
        parts = claims.keys()
        wrong = {
            part
            for part in parts
            if any(other != content for other in self._known.relatives(part, part.without(page)))
        }

        def trust(part: Part) -> tuple[int, int]:
            general = self.claims.get(Key(ANYWHERE, part))
            return -(general.ended if general else 0), claims[part].streak

        return parts - (wrong or {min(parts, key=trust)})

    def _fetched(
        self, page: Parts, part: Part, without: Parts, content: int, match: Parts | None
    ) -> Pair:
        """Return the URL of a page and that of a relative that was fetched and shows `content`.

        The URL with the part comes first. Of a relative with another value of the part the URL is
        known only if the page repeats it; otherwise the second is ``""``.
        """
        for other in (part.without(page), without):
            if other != page and self.knows(other) and self._known.shows(other) == content:
                return page.url, other.url
        if match is None or part.without(self.apply(match)[0]) != without:
            return page.url, ""
        return (match.url, page.url) if without == page else (page.url, match.url)

    def _compare(
        self, page: Parts, part: Part, without: Parts, pair: Pair, *, speaks_for: bool
    ) -> list[Change]:
        """Note whether a page and a relative show that the part in which alone they differ counts.

        `without` is the URL without the part, or the page's own if the relative has it. A page
        that repeats a third one is no evidence: nothing is lost if it isn't fetched.
        """
        changes: list[Change] = []
        for place in dict.fromkeys((ANYWHERE, *places(part, without))):
            changes += self.claims.note(Key(place, part), pair, speaks_for=speaks_for)
            if speaks_for and (claim := self.claims.get(Key(place, part))):
                claim.see(part.values(page))
        return changes

    def _compare_path(self, page: Parts, canonical: Parts, match: Parts) -> list[Change]:
        """Begin to examine a part of the path in which a page differs from the page it repeats."""
        without, _ = self.apply(match)
        part = difference(canonical, without)
        if part is None or part in self.claims.path_parts:
            return []
        return self._compare(page, part, without, (page.url, match.url), speaks_for=True)

    def _of_pattern(self, page: Parts, content: int, match: str, *, is_new: bool) -> list[Change]:
        """Learn whether all pages of the page's pattern are the same few."""
        key = Key(page.pattern, Part(PATTERN))
        if page.query or len(key.place) > MAX_WHAT:
            return []
        if not is_new:
            targets = self._targets.used(key.place, dict)
            targets[content] = None
            if len(targets) > MAX_TARGETS:
                self._targets[key.place] = {content: None}
                if (claim := self.claims.get(key)) is not None and not claim.is_in_force:
                    claim.streak = 0
        return self.claims.note(key, (page.url, match), speaks_for=not is_new)

    # Sharing

    def add_others(self, dumps: Iterable[bytes]) -> list[Change]:
        """Add the knowledge of other crawlers; skip what can't be read."""
        changes = self.claims.add_others(dumps)
        self._forget_ended(changes)
        return changes

    def _forget_ended(self, changes: Iterable[Change]) -> None:
        """Forget the contents that claims have predicted if one of them ends."""
        if any(not change.begins for change in changes):
            self._known.forget_derived()


MAX_HOSTS: Final = 4_096
"""Maximum number of hosts."""

MAX_BYTES: Final = 64 << 20
"""Maximum memory of all hosts in bytes; the least recently seen ones are forgotten."""

_MEASURED: Final = 256
"""Number of look-ups after which memory is measured."""


class Hosts(BoundedDict[str, Host]):
    """The hosts of a crawl by name, the most recently seen last."""

    def __init__(self, most: int = MAX_HOSTS) -> None:
        super().__init__(most)
        self._asked = 0

    def met(self, name: str) -> Host:
        """Return the host of a judged page, which becomes the most recent."""
        host = self.used(name, Host)
        host.pages += 1
        self._asked += 1
        if not self._asked % _MEASURED:
            held = sum(each.nbytes for each in self.values())
            while held > MAX_BYTES and len(self) > 1:
                held -= self.popitem(last=False)[1].nbytes
        return host
