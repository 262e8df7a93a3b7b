"""The evidence for and against a rule."""

from __future__ import annotations

from array import array
from typing import Any, Final

from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.urlrule import KINDS, MAX_WHAT, Rule

MAX_EXAMPLE: Final = 240
"""Maximum characters of a URL that is kept as an example."""

MAX_SECTIONS: Final = 16
"""Maximum number of sections of a site to which a rule can apply."""

MAX_SUPPORTS: Final = 80
"""Maximum number of pages that confirmed a rule and are remembered."""

Pair = tuple[str, str]
"""The URLs of two pages."""


class Evidence:
    """The pages that confirmed a rule, and the pair that contradicted it.

    Attributes
    ----------
    supports
        Distinct contents found at two URLs that differ by this rule alone: at most `MAX_SUPPORTS`.
    joint
        The same for URLs that differ by other rules, too.
    joint_counter
        Whether two such pages were judged different, so that `joint` doesn't count.
    sections
        Hash of a section -> number of pages that confirmed the rule there, up to `MAX_SUPPORTS`.
    example, counter
        A pair that confirmed the rule, and the one that contradicted it.
    is_active
        Whether the rule is in force.
    """

    __slots__ = (
        "counter", "example", "is_active", "joint", "joint_counter", "sections",
        "supports",
    )  # fmt: skip

    def __init__(self) -> None:
        self.supports = array("I")
        self.joint = array("I")
        self.joint_counter = False
        self.sections: dict[int, int] = {}
        self.example: Pair | None = None
        self.counter: Pair | None = None
        self.is_active = False

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
        if section in self.sections or len(self.sections) < MAX_SECTIONS:
            self.sections[section] = min(self.sections.get(section, 0) + 1, MAX_SUPPORTS)
        if self.example is None:
            self.example = _shortened(pair)

    def contradict(self, pair: Pair) -> None:
        """End the rule for good, as two pages were judged different."""
        self.counter = self.counter or _shortened(pair)
        self.is_active = False

    def applies_in(self, rule: Rule, section: int) -> bool:
        """Whether the rule was confirmed in a section of the site."""
        return self.sections.get(section, 0) >= max(1, rule.needed // 10)

    def merge(self, other: Evidence) -> None:
        """Add what another crawler knows; idempotent."""
        for mine, theirs in ((self.supports, other.supports), (self.joint, other.joint)):
            mine.extend([each for each in theirs if each not in mine][: MAX_SUPPORTS - len(mine)])
        self.joint_counter |= other.joint_counter
        for section, count in other.sections.items():
            if section in self.sections or len(self.sections) < MAX_SECTIONS:
                self.sections[section] = max(self.sections.get(section, 0), count)
        self.example = self.example or other.example
        if other.counter is not None:
            self.contradict(other.counter)

    def dump(self, rule: Rule) -> list[Any]:
        """Return the rule and its evidence in types of JSON."""
        return [
            list(rule), list(self.supports), list(self.joint), self.joint_counter,
            list(self.sections.items()), self.example, self.counter,
        ]  # fmt: skip

    @classmethod
    def load(cls, dump: object) -> tuple[Rule, Evidence]:
        """Return what `dump` has written; raise `ValueError` for anything else."""
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
        found.supports.extend(_numbers(supports))
        found.joint.extend(_numbers(joint))
        found.joint_counter = joint_counter
        for entry in sections[:MAX_SECTIONS]:
            section, count = _numbers(entry, 2)
            found.sections[section] = min(count, MAX_SUPPORTS)
        found.example, found.counter = _pair(example), _pair(counter)
        return Rule(kind, what, by, place), found


def _numbers(values: object, length: int | None = None) -> list[int]:
    """Return distinct numbers of 24 bits."""
    if not isinstance(values, list) or (length is not None and len(values) != length):
        raise ValueError("not a list of numbers")
    for value in values:
        if type(value) is not int or not 0 <= value < 1 << VALUE_BITS:
            raise ValueError("not a number of 24 bits")
    return values if length is not None else list(dict.fromkeys(values))


def _pair(value: object) -> Pair | None:
    match value:
        case None:
            return None
        case [str(one), str(other)]:
            return _shortened((one, other))
    raise ValueError("not a pair of URLs")


def _shortened(pair: Pair) -> Pair:
    return pair[0][:MAX_EXAMPLE], pair[1][:MAX_EXAMPLE]
