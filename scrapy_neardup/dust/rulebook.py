"""The rules of one host with their evidence, and those in force."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.urlparts import Parts, hash_of
from scrapy_neardup.dust.urlrule import EMPTY, KINDS, MAX_WHAT, PARAMETER, SEGMENT, VALUE, Rule

MAX_EXAMPLE: Final = 240
"""Maximum characters of a URL that is kept as an example."""

MAX_SECTIONS: Final = 256
"""Maximum length of `Evidence.sections`."""

_ENOUGH: Final = 4
"""Number of pages of a section that are counted."""

MAX_SUPPORTS: Final = 80
"""Maximum number of pages that confirmed a rule and are remembered."""

Pair = tuple[str, str]
"""The URLs of two pages."""


class Evidence:
    """The pages that confirmed a rule, and the pair that contradicted it."""

    __slots__ = ("counter", "example", "joint", "joint_counter", "sections", "supports")

    def __init__(self) -> None:
        self.supports = array("I")
        """Distinct contents of two URLs that differ by this rule alone, `MAX_SUPPORTS` at most."""
        self.joint = array("I")
        """The same for URLs that differ by other rules, too."""
        self.joint_counter = False
        """Whether two such pages were judged different, so that `joint` doesn't count."""
        self.sections = array("I")
        """Hash of the section of each page that confirmed the rule, each up to four times."""
        self.example: Pair | None = None
        """A pair that confirmed the rule."""
        self.counter: Pair | None = None
        """The pair that contradicted it."""

    @property
    def confirmed(self) -> int:
        """Number of contents that confirm the rule."""
        if self.joint_counter:
            return len(self.supports)
        return len(self.supports) + sum(each not in self.supports for each in self.joint)

    @property
    def pairs(self) -> int:
        """Number of pairs of URLs that confirmed the rule, alone or with other rules."""
        return len(self.supports) + len(self.joint)

    def support(self, content: int, section: int, pair: Pair, *, jointly: bool = False) -> None:
        """Note that both URLs of `pair` have one content."""
        known = self.joint if jointly else self.supports
        if content in known:
            return
        if len(known) < MAX_SUPPORTS:
            known.append(content)
        if self.sections.count(section) < _ENOUGH and len(self.sections) < MAX_SECTIONS:
            self.sections.append(section)
        if self.example is None:
            self.example = _shortened(pair)

    def may_go(self, rule: Rule) -> bool:
        """Whether the rule may be forgotten in favour of another one: it has never begun."""
        is_settled = self.counter is not None and rule.kind not in {SEGMENT, VALUE}
        return not is_settled and self.confirmed < rule.needed

    def applies_in(self, rule: Rule, section: int) -> bool:
        """Whether the rule was confirmed in a section of the site."""
        return self.sections.count(section) >= max(1, rule.needed // 10)

    def merge(self, other: Evidence) -> None:
        """Add what another crawler knows; idempotent."""
        for mine, theirs in ((self.supports, other.supports), (self.joint, other.joint)):
            mine.extend([each for each in theirs if each not in mine][: MAX_SUPPORTS - len(mine)])
        self.joint_counter |= other.joint_counter
        for section in set(other.sections):
            more = other.sections.count(section) - self.sections.count(section)
            self.sections.extend([section] * min(more, MAX_SECTIONS - len(self.sections)))
        self.example = self.example or other.example
        self.counter = self.counter or other.counter

    def dump(self, rule: Rule) -> list[Any]:
        """Return the rule and its evidence in types of JSON."""
        return [
            list(rule), list(self.supports), list(self.joint), self.joint_counter,
            list(self.sections), self.example, self.counter,
        ]  # fmt: skip

    @classmethod
    def load(cls, dump: object) -> tuple[Rule, Evidence]:
        """Restore the output of `dump`; raise `ValueError` for anything else."""
        match dump:
            case [
                [str(kind), str(what), None | str() as by, int(place)],
                list(supports), list(joint), bool(joint_counter), list(sections),
                example, counter,
            ] if kind in KINDS and len(what) + len(by or "") <= 2 * MAX_WHAT:  # fmt: skip
                pass
            case _:
                raise ValueError("not the evidence of a rule")
        if abs(place) > MAX_SUPPORTS or max(len(supports), len(joint)) > MAX_SUPPORTS:
            raise ValueError("more evidence than there can be")
        found = cls()
        found.supports.extend(dict.fromkeys(_numbers(supports)))
        found.joint.extend(dict.fromkeys(_numbers(joint)))
        found.joint_counter = joint_counter
        found.sections.extend(_numbers(sections[:MAX_SECTIONS]))
        found.example, found.counter = _pair(example), _pair(counter)
        return Rule(kind, what, by, place), found


def _numbers(values: list[object]) -> list[int]:
    """Return the numbers of 24 bits that `values` are."""
    numbers = [value for value in values if type(value) is int and 0 <= value < 1 << VALUE_BITS]
    if len(numbers) < len(values):
        raise ValueError("not numbers of 24 bits")
    return numbers


def _pair(value: object) -> Pair | None:
    match value:
        case None:
            return None
        case [str(one), str(other)]:
            return _shortened((one, other))
    raise ValueError("not a pair of URLs")


def _shortened(pair: Pair) -> Pair:
    return pair[0][:MAX_EXAMPLE], pair[1][:MAX_EXAMPLE]


TOPIC: Final = "urls"
"""First word of the topics under which crawlers exchange the rules of hosts."""

MAX_RULES: Final = 20
"""Maximum number of rules of a host that have evidence."""

MAX_DUMP: Final = 256 << 10
"""Maximum bytes of a host's dump, unpacked."""

_RULE_BYTES: Final = 3_500
"""Maximum bytes of a rule with its evidence."""


class Change(NamedTuple):
    """A rule that begins, or ends."""

    rule: Rule
    begins: bool
    pair: Pair
    """The URLs that confirmed or contradicted it last."""


class RuleBook:
    """The rules of one host, and the evidence for them."""

    __slots__ = ("_evidence", "_open", "active")

    def __init__(self) -> None:
        self._evidence: dict[Rule, Evidence] = {}
        self._open: list[Rule] | None = None
        self.active: list[Rule] = []
        """Those in force; of printed pages last, as any other page spares an original."""

    @property
    def nbytes(self) -> int:
        """Upper bound of the bytes that are held."""
        return _RULE_BYTES * (1 + len(self._evidence))

    def get(self, rule: Rule) -> Evidence | None:
        """Return the evidence of a rule; None for none."""
        return self._evidence.get(rule)

    def is_full(self, rule: Rule) -> bool:
        """Whether as many pages have confirmed a rule as are remembered."""
        evidence = self._evidence.get(rule)
        return evidence is not None and len(evidence.supports) == MAX_SUPPORTS

    def supported(self) -> list[tuple[Rule, Evidence]]:
        """Return the rules that any page confirms, with their evidence."""
        return [(rule, each) for rule, each in self._evidence.items() if each.example]

    def open(self) -> list[Rule]:
        """Return the rules that nothing contradicts; of segments, those that two pairs confirm."""
        if self._open is None:
            self._open = [
                rule
                for rule, each in self._evidence.items()
                if each.counter is None and (rule.kind != SEGMENT or each.pairs > 1)
            ]
        return self._open

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
        return self._settled(rule, pair)

    def end(self, rule: Rule, pair: Pair) -> list[Change]:
        """Contradict a rule for good; return that it ends, if it was in force."""
        # An unconfirmed rule of a value or segment needs no counter-example.
        known = rule.kind == PARAMETER or rule in self._evidence
        if not known or (evidence := self._of(rule)) is None:
            return []
        evidence.counter = evidence.counter or _shortened(pair)
        return self._settled(rule, pair)

    def _settled(self, rule: Rule, pair: Pair) -> list[Change]:
        """Begin or end a rule as its evidence says."""
        evidence, is_active = self._evidence[rule], rule in self.active
        if is_active and evidence.counter is not None:
            self.active.remove(rule)
        elif not is_active and evidence.counter is None and evidence.confirmed >= rule.needed:
            self.active.append(rule)
            self.active.sort(key=lambda rule: rule.is_one_way)
        else:
            return []
        return [Change(rule, begins=not is_active, pair=pair)]

    def weakest(self, rules: Iterable[Rule]) -> Rule:
        """Return the least confirmed rule: the one to blame if some together are wrong."""
        return min(rules, key=lambda rule: self._evidence[rule].confirmed)

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
                mine.merge(theirs)
                changes += self._settled(rule, mine.counter or mine.example or ("", ""))
        return changes

    def _of(self, rule: Rule) -> Evidence | None:
        """Return the evidence of a rule, to change it; None if the book is full."""
        self._open = None
        if rule.kind == EMPTY:
            return None
        if (found := self._evidence.get(rule)) is not None:
            return found
        if len(self._evidence) >= MAX_RULES:
            book = sorted(self._evidence.items(), key=lambda each: each[1].confirmed)
            weak = next((r for r, e in book if r not in self.active and e.may_go(r)), None)
            if weak is None:
                return None
            del self._evidence[weak]
        self._evidence[rule] = Evidence()
        return self._evidence[rule]


def _loaded(dump: bytes) -> list[tuple[Rule, Evidence]]:
    """Read the output of `RuleBook.dump`; return an empty list for anything else."""
    try:
        lines = json.loads(zlib.decompressobj().decompress(dump, MAX_DUMP))
        return [Evidence.load(line) for line in lines[:MAX_RULES]]
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
        return []
