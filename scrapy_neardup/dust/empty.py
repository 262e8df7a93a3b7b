"""URL patterns that only ever lead to a few pages without content.

Soft 404s, empty months of a calendar, searches without results: whatever the URL, the page repeats
one of a few others. A single new page ends such a rule.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.urlparts import Parts, hash_of
from scrapy_neardup.dust.urlrule import EMPTY, MAX_WHAT, Rule

MAX_PATTERNS: Final = 16
"""Maximum number of patterns of a host that are watched."""

MAX_TARGETS: Final = 4
"""Maximum number of pages that all pages of an empty pattern repeat."""


class _Pattern:
    __slots__ = ("addresses", "has_ended", "targets")

    def __init__(self) -> None:
        self.has_ended = False
        self.reset()

    def reset(self) -> None:
        self.addresses, self.targets = array("I"), array("I")


class EmptyPatterns:
    """The patterns of one host."""

    __slots__ = ("_active", "_patterns")

    def __init__(self) -> None:
        self._patterns: dict[str, _Pattern] = {}
        self._active: set[str] = set()

    @property
    def has_rules(self) -> bool:
        """Whether any rule is in force."""
        return bool(self._active)

    @property
    def active(self) -> list[Rule]:
        """The rules that are in force."""
        return [Rule(EMPTY, name) for name in sorted(self._active)]

    def find(self, page: Parts) -> Rule | None:
        """Return the rule that applies to a URL; None for none."""
        if self._active and (pattern := page.pattern) in self._active:
            return Rule(EMPTY, pattern)
        return None

    def targets(self, page: Parts) -> Iterable[int]:
        """Return the contents that the URL's pattern has led to."""
        pattern = self._patterns.get(page.pattern) if self._patterns else None
        return () if pattern is None else pattern.targets

    def repeats(self, page: Parts, target: int) -> Rule | None:
        """Note that a page repeats the content `target`; return the rule that begins with it."""
        name = page.pattern
        if len(name) > MAX_WHAT:
            return None
        if (pattern := self._patterns.pop(name, None)) is None:
            pattern = _Pattern()
            if len(self._patterns) >= MAX_PATTERNS:
                self._evict()
        self._patterns[name] = pattern
        if pattern.has_ended:
            return None
        if target not in pattern.targets:
            if len(pattern.targets) >= MAX_TARGETS:
                pattern.reset()
            pattern.targets.append(target)
        address = hash_of("/".join(page.segments), VALUE_BITS)
        rule = Rule(EMPTY, name)
        if name in self._active or address in pattern.addresses:
            return None
        pattern.addresses.append(address)
        if len(pattern.addresses) < rule.needed:
            return None
        self._active.add(name)
        return rule

    def is_new(self, page: Parts) -> Rule | None:
        """Note a new page; return the rule that it ends."""
        if not self._patterns or (pattern := self._patterns.get(page.pattern)) is None:
            return None
        pattern.reset()
        if page.pattern not in self._active:
            return None
        self._active.discard(page.pattern)
        pattern.has_ended = True
        return Rule(EMPTY, page.pattern)

    def _evict(self) -> None:
        """Forget the least recent pattern, preferably one that hasn't begun."""
        idle = (n for n, p in self._patterns.items() if n not in self._active and not p.has_ended)
        name = next(idle, next(iter(self._patterns)))
        del self._patterns[name]
        self._active.discard(name)
