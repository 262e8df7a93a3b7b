"""The rules of one host with their evidence, and those in force."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from scrapy_neardup.dust.addresses import Parts, hash_of
from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.observations import Evidence, Pair
from scrapy_neardup.dust.urlrule import EMPTY, PARAMETER, SEGMENT, VALUE, Rule

TOPIC: Final = "urls"
"""First word of the topics under which crawlers exchange the rules of hosts."""

MAX_RULES: Final = 20
"""Maximum number of rules of a host that have evidence."""

MAX_DUMP: Final = 256 << 10
"""Maximum bytes of a host's dump, unpacked."""

_RULE_BYTES: Final = 3_500
"""Maximum bytes of a rule with its evidence."""

_SEVERAL: Final = 2


class Change(NamedTuple):
    """A rule that begins, or ends.

    Parameters
    ----------
    pair
        The URLs that confirmed or contradicted it last.
    """

    rule: Rule
    begins: bool
    pair: Pair


class RuleBook:
    """The rules of one host, and the evidence for them."""

    __slots__ = ("_evidence", "active")

    def __init__(self) -> None:
        self._evidence: dict[Rule, Evidence] = {}
        self.active: list[Rule] = []

    @property
    def nbytes(self) -> int:
        """Upper bound of the bytes that are held."""
        return _RULE_BYTES * (1 + len(self._evidence))

    def get(self, rule: Rule) -> Evidence | None:
        """Return the evidence of a rule; None for none."""
        return self._evidence.get(rule)

    def supported(self) -> list[tuple[Rule, Evidence]]:
        """Return the rules that any page confirms, with their evidence."""
        return [(rule, each) for rule, each in self._evidence.items() if each.example]

    def open(self) -> list[Rule]:
        """Return the rules that nothing contradicts; of segments, those that two pairs confirm."""
        return [
            rule
            for rule, evidence in self._evidence.items()
            if evidence.counter is None and (rule.kind != SEGMENT or evidence.pairs >= _SEVERAL)
        ]

    def apply(self, page: Parts) -> tuple[Parts, tuple[Rule, ...]]:
        """Return a URL under the rules in force, and the rules that change it."""
        used = []
        for rule in self.active:
            if rule.kind in {PARAMETER, VALUE} and not page.query:
                continue
            applied = rule.apply(page)
            if applied is not page and applied != page:
                page = applied
                used.append(rule)
        return page, tuple(used)

    def apply_in(self, page: Parts, rules: Iterable[Rule]) -> bool:
        """Whether rules were confirmed in the section of a canonical URL."""
        section = hash_of(page.section, VALUE_BITS)
        return all(self._evidence[rule].applies_in(rule, section) for rule in rules)

    def support(
        self, rule: Rule, content: int, section: str, pair: Pair, *, jointly: bool = False
    ) -> list[Change]:
        """Note that both URLs of `pair` have one content; return the rule that begins, if any."""
        evidence = self._of(rule)
        if evidence is None or evidence.counter is not None:
            return []
        evidence.support(content, hash_of(section, VALUE_BITS), pair, jointly=jointly)
        if evidence.is_active or evidence.confirmed < rule.needed:
            return []
        evidence.is_active = True
        self.active.append(rule)
        return [Change(rule, begins=True, pair=pair)]

    def end(self, rules: Iterable[Rule], pair: Pair) -> list[Change]:
        """Contradict rules for good; return those that were in force."""
        ended = []
        for rule in rules:
            # An unconfirmed rule of a value or segment needs no counter-example.
            known = rule.kind == PARAMETER or rule in self._evidence
            if not known or (evidence := self._of(rule)) is None:
                continue
            if evidence.is_active:
                self.active.remove(rule)
                ended.append(Change(rule, begins=False, pair=pair))
            evidence.contradict(pair)
        return ended

    def dump(self) -> bytes:
        """Return the rules and their evidence, for other crawlers."""
        rules = [evidence.dump(rule) for rule, evidence in self._evidence.items()]
        return zlib.compress(json.dumps(rules).encode(), 1)

    def add_others(self, dumps: Iterable[bytes]) -> list[Change]:
        """Add what others have learnt; what can't be read is skipped."""
        changes: list[Change] = []
        for dump in dumps:
            for rule, theirs in _loaded(dump):
                if (mine := self._of(rule)) is None:
                    continue
                was_active = mine.is_active
                mine.merge(theirs)
                if mine.counter is not None:
                    if was_active:
                        mine.is_active = True
                        changes += self.end((rule,), mine.counter)
                elif not was_active and mine.confirmed >= rule.needed:
                    mine.is_active = True
                    self.active.append(rule)
                    changes.append(Change(rule, begins=True, pair=mine.example or ("", "")))
        return changes

    def _of(self, rule: Rule) -> Evidence | None:
        """Return the evidence of a rule; None if there is no room for one more."""
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


def _is_weak(rule: Rule, evidence: Evidence) -> bool:
    """Whether a rule may be forgotten in favour of another one."""
    if evidence.is_active:
        return False
    return evidence.confirmed <= 1 and (evidence.counter is None or rule.kind in {SEGMENT, VALUE})


def _loaded(dump: bytes) -> list[tuple[Rule, Evidence]]:
    """Return what `RuleBook.dump` has written; an empty list for anything else."""
    try:
        lines = json.loads(zlib.decompressobj().decompress(dump, MAX_DUMP))
        return [Evidence.load(line) for line in lines[:MAX_RULES]]
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return []
