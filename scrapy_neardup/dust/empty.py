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
    """What the pages of a pattern have repeated; its rule, once it has ended, is over for good."""

    __slots__ = ("addresses", "has_ended", "is_active", "targets")

    def __init__(self) -> None:
        self.is_active = self.has_ended = False
        self.reset()

    def reset(self) -> None:
        self.addresses, self.targets = array("I"), array("I")


class EmptyPatterns:
    """The patterns of one host."""

    __slots__ = ("_patterns",)

    def __init__(self) -> None:
        self._patterns: dict[str, _Pattern] = {}

    @property
    def active(self) -> list[Rule]:
        """The rules that are in force."""
        return [Rule(EMPTY, name) for name, each in self._patterns.items() if each.is_active]

    def find(self, page: Parts) -> Rule | None:
        """Return the rule that applies to a URL; None for none."""
        pattern = self._patterns.get(page.pattern) if self._patterns else None
        return Rule(EMPTY, page.pattern) if pattern is not None and pattern.is_active else None

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
        if pattern.is_active or address in pattern.addresses:
            return None
        pattern.addresses.append(address)
        rule = Rule(EMPTY, name)
        pattern.is_active = len(pattern.addresses) >= rule.needed
        return rule if pattern.is_active else None

    def is_new(self, page: Parts) -> Rule | None:
        """Note a new page; return the rule that it ends."""
        if not self._patterns or (pattern := self._patterns.get(page.pattern)) is None:
            return None
        pattern.reset()
        if not pattern.is_active:
            return None
        pattern.is_active, pattern.has_ended = False, True
        return Rule(EMPTY, page.pattern)

    def _evict(self) -> None:
        """Forget the least recent pattern, preferably one that hasn't begun."""
        idle = (n for n, p in self._patterns.items() if not (p.is_active or p.has_ended))
        del self._patterns[next(idle, next(iter(self._patterns)))]
