"""What the addresses of one host have shown: rules, learnt from verdicts and checked by them.

Each page that is judged is looked up beside its relatives: the addresses that differ from it by
one rule and were judged before. Where both show one content, that page speaks for the rule. Where
the later one was judged new, it speaks against it, and the rule ends for good. What was judged is
remembered as hashes alone (`table.py`), so a page costs some look-ups, whatever the host's size.

Memory is at most 256 kB, and some 1 kB for a host of ten pages.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from scrapy_neardup.dust.addresses import Parts, hash_of, key_of, name_of
from scrapy_neardup.dust.empty import EmptyPatterns
from scrapy_neardup.dust.evidence import Evidence, Pair
from scrapy_neardup.dust.rules import (
    CASE,
    EMPTY,
    PARAMETER,
    PATH_PARAMETER,
    SEGMENT,
    VALUE,
    Rule,
    difference,
)
from scrapy_neardup.dust.table import KEY_BITS, VALUE_BITS, HashTable

MAX_DERIVED: Final = 4_096
"""Maximum number of cells for addresses under rules, 32 kB."""

MAX_RULES: Final = 20
"""Maximum number of rules of a host that are examined at a time."""

_RULE_BYTES: Final = 3_500
"""Maximum bytes of a rule with its evidence."""

MAX_NAMES: Final = 8
"""Maximum number of parameters of one address that are examined."""

MAX_DUMP: Final = 256 << 10
"""Maximum bytes of a dump of a host's rules, unpacked."""

_MAX_STATE: Final = 1 << 20

MAX_VALUE: Final = 40
"""Maximum characters of a parameter that is examined together with its value."""

_SEVERAL: Final = 2


class Known(NamedTuple):
    """A page that rules join with one that was judged before."""

    rules: tuple[Rule, ...]
    content: int


class Change(NamedTuple):
    """A rule that begins, or ends.

    Parameters
    ----------
    pair
        The addresses that confirmed or contradicted it last.
    """

    rule: Rule
    begins: bool
    pair: Pair


class Host:
    """One host, with and without ``www.``."""

    __slots__ = ("_active", "_derived", "_empty", "_evidence", "_known", "_names")

    def __init__(self) -> None:
        self._known = HashTable()
        # Keys of addresses to which rules were applied; no longer true when one of these ends.
        self._derived = HashTable(MAX_DERIVED)
        self._evidence: dict[Rule, Evidence] = {}
        self._active: list[Rule] = []
        self._names: dict[str, None] = {}  # of parameters, those that were met first
        self._empty = EmptyPatterns()

    @property
    def nbytes(self) -> int:
        """Bytes that are held, rounded up."""
        tables = self._known.nbytes + self._derived.nbytes
        return tables + _RULE_BYTES * (1 + len(self._evidence))

    @property
    def active(self) -> list[Rule]:
        """The rules that are in force."""
        return [*self._active, *self._empty.active]

    @property
    def has_rules(self) -> bool:
        """Whether any rule is in force."""
        return bool(self._active) or self._empty.has_rules

    def find(self, page: Parts) -> Known | None:
        """Return the known page that rules join `page` with; None for none.

        O(rules): a microsecond or two for each that has begun.
        """
        if (rule := self._empty.find(page)) is not None:
            return Known((rule,), 0)
        if not self._active:
            return None
        canonical, used = self._canonical(page)
        content = self._shown(key_of(canonical)) if used else None
        if content is None:
            found = self._first_relative(canonical)
            if found is None:
                return None
            content, rule = found
            used = tuple(dict.fromkeys((*used, rule)))
        return Known(used, content) if self._apply_in(canonical, used) else None

    def knows(self, page: Parts) -> bool:
        """Return whether a page of this very address was judged."""
        return self._known.get(key_of(page)) is not None

    def joined(self, page: Parts) -> tuple[int, tuple[Rule, ...]]:
        """Return a key that all addresses have which the rules join, and the rules it takes."""
        canonical, used = self._canonical(page)
        if not used or not self._apply_in(canonical, used):
            return key_of(page), ()
        return key_of(canonical), used

    def learn(
        self,
        page: Parts,
        content: int,
        *,
        is_new: bool,
        match: Parts | None = None,
        words: int = 0,
        is_short: bool = False,
    ) -> list[Change]:
        """Learn from a page that was judged.

        Parameters
        ----------
        page
            Its address.
        content
            24-bit number of what it shows: of a new page its own, of a duplicate that of the page
            which it repeats.
        is_new
            Whether it was judged new.
        match
            The address of the page that it repeats, if it does and that is known.
        words
            Hash of its words, whatever their order; 0: unknown. A new page with the words of
            another one is that page in another order (a list that is sorted otherwise).
        is_short
            Whether the page is too short for more than equality, and `words` leaves out what may
            change with each response. Then a new page with the words of another one says nothing
            for a rule and nothing against it.

        Returns
        -------
        list of Change
            What begins and ends with this page.
        """
        canonical, used = self._canonical(page)
        if match is not None:
            seen = self._shown(key_of(self._canonical(match)[0]))
            content = content if seen is None else seen
        if words:
            key = hash_of(f"words {words}", KEY_BITS)
            same = self._known.get(key)
            if same is None:
                self._known.put(key, content)
            elif is_new and is_short:
                self._remember(page, canonical, same)
                return []
            elif is_new:
                content, is_new = same, False
        changes = self._compare(page, canonical, used, content, is_new=is_new)
        if match is not None:
            changes += self._repeats(page, canonical, match, content)
        if any(not change.begins for change in changes):
            canonical = self._canonical(page)[0]
        self._remember(page, canonical, content)
        return changes

    def lacks(self, rule: Rule) -> int:
        """Return how many more pages have to confirm a rule before a crawl relies on it."""
        evidence = self._evidence.get(rule)
        return rule.checks - evidence.confirmed if evidence is not None else 0

    def clear_pages(self) -> None:
        """Forget which pages are known: what rests on them would no longer be true."""
        self._known.clear()
        self._derived.clear()

    def rules(self) -> list[tuple[Rule, Evidence]]:
        """Return the rules that anything speaks for, with their evidence."""
        return [(rule, each) for rule, each in self._evidence.items() if each.example]

    # Learning

    def _compare(
        self, page: Parts, canonical: Parts, used: Collection[Rule], content: int, *, is_new: bool
    ) -> list[Change]:
        """Hold a page against its relatives."""
        changes: list[Change] = []
        if is_new and (found := self.find(page)) is not None and found.content != content:
            changes += self._end(found.rules, (page.url, canonical.url))
            canonical, used = self._canonical(page)
        if is_new and (ended := self._empty.is_new(page)) is not None:
            changes.append(Change(ended, begins=False, pair=(page.url, "")))
        for rule, other, changed in self._candidates(canonical, used):
            for key in _relatives(rule, other, changed=changed):
                if (shown := self._shown(key)) is None:
                    continue
                pair = (page.url, other.url)
                if shown == content:
                    changes += self._support(rule, content, other.section, pair)
                elif is_new:
                    changes += self._end((rule,), pair)
        if is_new and len(canonical.query) >= _SEVERAL:
            self._doubt_joint(canonical, content)
        return changes

    def _candidates(
        self, page: Parts, used: Collection[Rule]
    ) -> Iterator[tuple[Rule, Parts, bool]]:
        """Yield rules that may join a page with known ones.

        With each the page's address under the rule, and whether that is another one than its own.
        """
        names = page.names[:MAX_NAMES]
        for name in names:
            rule, base = Rule(PARAMETER, name), page.without(name)
            yield rule, base, True
            if len(self._names) < MAX_NAMES:
                self._names[name] = None
            evidence = self._evidence.get(rule)
            if evidence is not None and evidence.counter is not None:
                part = next(each for each in page.query if name_of(each) == name)
                if len(part) <= MAX_VALUE and len(base.query) == len(page.query) - 1:
                    yield Rule(VALUE, part), base, True
        absent = [Rule(PARAMETER, name) for name in self._names if name not in names]
        for rule in dict.fromkeys((*absent, *self._evidence)):
            evidence = self._evidence.get(rule)
            if evidence is not None and (evidence.counter or _is_chance(rule, evidence)):
                continue
            if rule.kind != PARAMETER or rule.what not in names:
                applied = rule.apply(page)
                yield rule, applied, applied != page or rule in used

    def _doubt_joint(self, page: Parts, content: int) -> None:
        """Note that parameters which come together may have an effect together."""
        if self._shown(key_of(page._replace(query=()))) in {None, content}:
            return
        for name in page.names[:MAX_NAMES]:
            if (evidence := self._evidence.get(Rule(PARAMETER, name))) is not None:
                evidence.joint_counter = True

    def _support(
        self, rule: Rule, content: int, section: str, pair: Pair, *, jointly: bool = False
    ) -> list[Change]:
        evidence = self._evidence_of(rule)
        if evidence is None or evidence.counter is not None:
            return []
        evidence.support(content, hash_of(section, VALUE_BITS), pair, jointly=jointly)
        if evidence.is_active or evidence.confirmed < rule.needed:
            return []
        evidence.is_active = True
        self._active.append(rule)
        return [Change(rule, begins=True, pair=pair)]

    def _end(self, rules: Iterable[Rule], pair: Pair) -> list[Change]:
        """Contradict rules; return those that were in force."""
        ended = []
        for rule in rules:
            # A value or segment that nothing speaks for needs no counter-example.
            known = rule.kind == PARAMETER or rule in self._evidence
            if not known or (evidence := self._evidence_of(rule)) is None:
                continue
            if evidence.is_active:
                self._active.remove(rule)
                ended.append(Change(rule, begins=False, pair=pair))
            evidence.contradict(pair)
        if ended:
            self._derived.clear()
        return ended

    def _repeats(self, page: Parts, canonical: Parts, match: Parts, content: int) -> list[Change]:
        """Learn from a page and the one that it was found to repeat."""
        changes = []
        pair = (page.url, match.url)
        if (begun := self._empty.repeats(page, content, match.url)) is not None:
            changes.append(Change(begun, begins=True, pair=pair))
        rules = difference(canonical, self._canonical(match)[0])
        for rule in rules:
            if rule.kind == SEGMENT and rule.what.isdecimal():
                continue  # one number for another: two pages that are alike, not a rule
            section = rule.apply(canonical).section
            changes += self._support(rule, content, section, pair, jointly=len(rules) > 1)
        return changes

    def _evidence_of(self, rule: Rule) -> Evidence | None:
        """Return what is known of a rule; None where there is no room for one more."""
        if rule.kind == EMPTY:
            return None
        if (found := self._evidence.get(rule)) is not None:
            return found
        if len(self._evidence) >= MAX_RULES:
            weak = (r for r, each in self._evidence.items() if _is_weak(r, each))
            if (weakest := next(weak, None)) is None:
                return None
            del self._evidence[weakest]
        self._evidence[rule] = Evidence()
        return self._evidence[rule]

    # What is known

    def _apply_in(self, page: Parts, rules: Iterable[Rule]) -> bool:
        """Return whether rules were confirmed in the section of a canonical address."""
        section = hash_of(page.section, VALUE_BITS)
        return all(self._evidence[rule].applies_in(rule, section) for rule in rules)

    def _first_relative(self, page: Parts) -> tuple[int, Rule] | None:
        """Return the content of a known page that one rule joins with a canonical address."""
        for rule in self._active:
            for key in _relatives(rule, page, changed=False):
                if (content := self._shown(key)) is not None:
                    return content, rule
        return None

    def _canonical(self, page: Parts) -> tuple[Parts, tuple[Rule, ...]]:
        used = []
        for rule in self._active:
            applied = rule.apply(page)
            if applied != page:
                page = applied
                used.append(rule)
        return page, tuple(used)

    def _shown(self, key: int) -> int | None:
        """Return the content that an address shows; None where it isn't known."""
        shown = self._known.get(key)
        return self._derived.get(key) if shown is None else shown

    def _remember(self, page: Parts, canonical: Parts, content: int) -> None:
        """Note what an address shows, under each key by which a relative may look for it."""
        self._note(self._known, page, content)
        if page != canonical:
            self._note(self._derived, canonical, content)
            for name in set(page.names[:MAX_NAMES]).difference(canonical.names):
                self._derived.put(key_of(canonical.without(name), f"?{name}"), content)

    @staticmethod
    def _note(table: HashTable, page: Parts, content: int) -> None:
        table.put(key_of(page), content)
        for name in page.names[:MAX_NAMES]:
            table.put(key_of(page.without(name), f"?{name}"), content)
        path = "/".join(page.segments)
        if ";" in path:
            for rule in {Rule(PATH_PARAMETER, name) for name in _path_parameters(path)}:
                table.put(key_of(rule.apply(page), f";{rule.what}"), content)
        if path != path.lower():
            table.put(key_of(Rule(CASE).apply(page), CASE), content)

    # Sharing

    def dump(self) -> bytes:
        """Return the rules and their evidence, for other crawlers."""
        rules = [evidence.dump(rule) for rule, evidence in self._evidence.items()]
        return zlib.compress(json.dumps(rules).encode(), 1)

    def add_others(self, dumps: Iterable[bytes]) -> list[Change]:
        """Take over what others have found out; what can't be read is skipped."""
        changes: list[Change] = []
        for dump in dumps:
            for rule, theirs in _loaded(dump):
                if (mine := self._evidence_of(rule)) is None:
                    continue
                was_active = mine.is_active
                mine.merge(theirs)
                if mine.counter is not None:
                    if was_active:
                        mine.is_active = True
                        changes += self._end((rule,), mine.counter)
                elif not was_active and mine.confirmed >= rule.needed:
                    mine.is_active = True
                    self._active.append(rule)
                    changes.append(Change(rule, begins=True, pair=mine.example or ("", "")))
        return changes

    def state(self) -> bytes:
        """Return all that is known, for this crawl's next run."""
        rules = self.dump()
        return len(rules).to_bytes(4, "little") + rules + zlib.compress(self._known.dump(), 1)

    @classmethod
    def restored(cls, state: bytes) -> Host | None:
        """Return the host that goes on from what `state` wrote; None if that can't be read."""
        size = int.from_bytes(state[:4], "little")
        host = cls()
        host.add_others([state[4 : 4 + size]])
        try:
            known = zlib.decompressobj().decompress(state[4 + size :], _MAX_STATE)
            host._known = HashTable.load(known)
        except (ValueError, zlib.error):
            return None
        return host


def _relatives(rule: Rule, page: Parts, *, changed: bool) -> Iterator[int]:
    """Yield the keys of the addresses that a rule joins with one.

    Parameters
    ----------
    page
        The address under the rule.
    changed
        Whether the address itself is another one, so that `page` is one of those.
    """
    match rule.kind:
        case "parameter":
            yield key_of(page, f"?{rule.what}")
        case "path-parameter":
            yield key_of(page, f";{rule.what}")
        case "case":
            yield key_of(page, CASE)
        case _ if not changed and (other := rule.counterpart(page)) is not None:
            yield key_of(other)
    if changed:
        yield key_of(page)


def _path_parameters(path: str) -> list[str]:
    parts = [part for segment in path.split("/") for part in segment.split(";")[1:]]
    return [part.partition("=")[0] for part in parts][:MAX_NAMES]


def _is_weak(rule: Rule, evidence: Evidence) -> bool:
    """Return whether a rule may be forgotten for another one."""
    if evidence.is_active:
        return False
    return evidence.confirmed <= 1 and (evidence.counter is None or rule.kind in {SEGMENT, VALUE})


def _is_chance(rule: Rule, evidence: Evidence) -> bool:
    """Return whether nothing but one pair speaks for a rule, as for many names of two pages."""
    return rule.kind == SEGMENT and len(evidence.supports) + len(evidence.joint) < _SEVERAL


def _loaded(dump: bytes) -> list[tuple[Rule, Evidence]]:
    """Return what `Host.dump` has written; nothing of what it can't have."""
    try:
        lines = json.loads(zlib.decompressobj().decompress(dump, MAX_DUMP))
        return [Evidence.load(line) for line in lines[:MAX_RULES]]
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return []
