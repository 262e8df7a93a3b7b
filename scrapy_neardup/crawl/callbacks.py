"""What the callbacks of a crawl have seen, have yielded, and have requested again.

A page that only other callbacks have seen isn't repeated. One callback may yield items for
``/item/7`` and none for ``/print/7``. So of the near-duplicates of pages that have yielded no item
a few are delivered. If one of them yields an item, requests of its URL pattern count as having
another callback from then on, and those that were dropped before are requested again.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from scrapy.spiders import CrawlSpider

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.claims.urlparts import Parts
from scrapy_neardup.verdict import DUPLICATE, NEW

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.spiders import Rule

    from scrapy_neardup.verdict import Decision, Verdict

REMEMBERED_PAGES: Final = 262_144
"""Maximum number of pages whose callbacks are remembered (30 MB)."""

TESTS: Final = 3
"""Number of near-duplicates of one callback and URL pattern that are delivered first, if the
callback has yielded an item before."""
EVERY: Final = 20
"""One in this number of the others is delivered; `TESTS` at most if it has yielded none."""
_MAX_PLACES: Final = 4_096
_MAX_AGAIN: Final = 65_536
_ITEM: Final = 1
"""Bit of a page that has yielded an item."""

_KEPT: Final = (
    "_bits", "_seen", "_apart", "_yielding", "_copies", "_places", "asked_again", "with_errback",
)  # fmt: skip
"""Attributes of `Callbacks` that a resumed crawl needs."""

_Place = tuple[str, str]
"""A callback and a URL pattern."""

Delivery = tuple[int, int]
"""The id of a page, and the bit of a callback that gets the page or one like it."""


class Callbacks:
    """The callbacks that a crawl's pages were delivered to, each of them a bit.

    Pages of other crawls count as seen by all, and as having yielded an item.
    """

    def __init__(self, spider: Spider | None) -> None:
        self._spider = spider
        self._bits: dict[str, int] = {}
        """Bits of callbacks."""
        self._seen: BoundedDict[int, int] = BoundedDict(REMEMBERED_PAGES)
        """Page -> bits of the callbacks that have seen it, and `_ITEM`."""
        self._apart: BoundedDict[_Place, None] = BoundedDict(_MAX_PLACES)
        """Places where near-duplicates of pages without an item have yielded one."""
        self._yielding: set[str] = set()
        """Callbacks that have yielded an item."""
        self._copies: BoundedDict[_Place, int] = BoundedDict(_MAX_PLACES)
        """Number of near-duplicates of pages without an item, by callback and URL pattern."""
        self._places: BoundedDict[int, _Place] = BoundedDict(_MAX_PLACES)
        """The dropped ones of them -> callback and URL pattern."""
        self.asked_again: BoundedDict[int, None] = BoundedDict(_MAX_AGAIN)
        """Pages whose callbacks only requested them again."""
        self.with_errback: BoundedDict[int, None] = BoundedDict(_MAX_AGAIN)
        """Dropped pages whose requests have an errback: delivered if it requests them again."""

    @property
    def state(self) -> dict[str, Any]:
        """What a resumed crawl needs, in types that can be pickled."""
        return {name: getattr(self, name) for name in _KEPT}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        for name in _KEPT:
            setattr(self, name, state[name])

    def of(self, request: Request) -> str:
        """Return the name of a request's callback, with ``apart`` where copies yield items."""
        name = self._name(request)
        is_apart = self._apart and (name, _pattern(request)) in self._apart
        return f"{name} apart" if is_apart else name

    def place(self, request: Request) -> _Place:
        """Return the name of a request's callback, and its URL pattern."""
        return self.of(request), _pattern(request)

    def has_errback(self, request: Request) -> bool:
        """Return whether a request has an errback. All of a `CrawlSpider` call those of rules."""
        return bool(request.errback and (self._rule(request) or request).errback)

    def delivery(self, request: Request, verdict: Verdict) -> Delivery:
        """Return the delivery of a page to the callback of its request."""
        return _shown_by(verdict), self._bit(request)

    def has_seen(self, delivery: Delivery) -> bool:
        """Return whether a callback has got a page, or one like it, and hasn't failed with it."""
        page_id, bit = delivery
        return bool(self._seen.get(page_id, -1) & bit)

    def see(self, delivery: Delivery, decision: Decision) -> bool:
        """Note that a callback gets a page; return whether it hasn't seen such a page before."""
        page_id, bit = delivery
        unknown = -1 if decision is DUPLICATE else 0
        # A new page has other content than before.
        before = 0 if decision is NEW else self._seen.get(page_id, unknown)
        if before & bit:
            return False
        self._seen[page_id] = before | bit
        return True

    def have_met(self, page_id: int) -> bool:
        """Return whether a callback of this crawl has seen a page."""
        return page_id in self._seen

    def failed(self, delivery: Delivery) -> None:
        """Note that a callback has failed with a page: it gets the next page like it."""
        page_id, bit = delivery
        self._seen[page_id] = self._seen.get(page_id, -1) & ~bit

    def lacks_item(self, verdict: Verdict) -> bool:
        """Return whether a page repeats one of this crawl that has yielded no item."""
        original = self._original(verdict)
        return original is not None and not original & _ITEM

    def is_tested(self, request: Request, verdict: Verdict) -> bool:
        """Return whether a near-duplicate is delivered to see whether it yields an item."""
        original = self._original(verdict)
        if not verdict.is_duplicate or (original or 0) & _ITEM:
            return False  # an unchanged page of an earlier crawl is no duplicate
        if not (name := self._name(request)):
            return False  # its rule has no callback
        place = name, _pattern(request)
        if place in self._apart:
            return True
        if original is not None:
            self._copies[place] = number = self._copies.get(place, 0) + 1
            yields = name in self._yielding  # many spiders never yield an item
            if yields and number <= TESTS:
                return True
            if not number % EVERY and (yields or number <= TESTS * EVERY):
                return True
        self._places[verdict.page_id] = place
        return False

    def yielded(self, request: Request, verdict: Verdict, *, is_test: bool) -> list[int] | None:
        """Note that a page has yielded an item; if it shows that others may, return dropped ones.

        `is_test` says that it was delivered, if at all, because `lacks_item`.
        """
        self._yielding.add(name := self._name(request))
        shows = is_test and self.lacks_item(verdict)
        page_id = _shown_by(verdict)
        if page_id in self._seen:
            self._seen[page_id] |= _ITEM
        if not shows or (place := (name, _pattern(request))) in self._apart:
            return None
        self._apart[place] = None
        self._seen[page_id] |= self._bit(request)
        return [page for page, at in self._places.items() if at == place]

    def _original(self, verdict: Verdict) -> int | None:
        """Return the bits of the page that one repeats, if this crawl has met it."""
        if not verdict.is_duplicate or verdict.match is None:
            return None
        return self._seen.get(verdict.match.page_id)

    def _bit(self, request: Request) -> int:
        return self._bits.setdefault(self.of(request), _ITEM << 1 + len(self._bits))

    def _rule(self, request: Request) -> Rule | None:
        """Return the rule by which a `CrawlSpider` made a request."""
        spider = self._spider
        if isinstance(spider, CrawlSpider) and request.callback == spider._callback:  # noqa: SLF001
            rules: dict[Any, Rule] = dict(enumerate(spider._rules))  # noqa: SLF001
            return rules.get(request.meta.get("rule"))
        return None

    def _name(self, request: Request) -> str:
        """Return the callback of a request or of its rule, with arguments that tell calls apart.

        They are those of the rule, which are the same for all of its requests, and bools.
        """
        callback: Any = request.callback or "parse"
        arguments, of_rule = request.cb_kwargs, {}
        if (rule := self._rule(request)) is not None:
            callback, of_rule = rule.callback or "", rule.cb_kwargs
        if isinstance(callback, str):
            callback = getattr(self._spider, callback, callback)
        while isinstance(callback, partial):
            callback, arguments = callback.func, callback.keywords | arguments
        if not (arguments or of_rule):
            return _name_of(callback)
        flags = {key: value for key, value in arguments.items() if isinstance(value, bool)}
        told = [f" {key}={value}" for key, value in sorted((of_rule | flags).items())]
        return "".join([_name_of(callback), *told])


def _name_of(callback: Any) -> str:
    """Return the name of a function, with what it names and encloses if others have its name.

    All lambdas of a function have one name, as have all functions that one decorator returns.
    """
    if isinstance(callback, str):
        return callback
    function: Any = getattr(callback, "__func__", callback)
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    if code is None or "<" not in name:
        return name
    names = [name, *code.co_names]
    for cell in function.__closure__ or ():
        with suppress(Exception):  # it is empty, has no name, or its `__getattr__` raises anything
            if isinstance(told := cell.cell_contents.__qualname__, str):
                names.append(told)
    return " ".join(names)


def _shown_by(verdict: Verdict) -> int:
    """Return the id of the page that a page repeats, or its own."""
    return verdict.page_id if verdict.match is None else verdict.match.page_id


def _pattern(request: Request) -> str:
    parts = Parts.of(request.url)
    return "" if parts is None else parts.host + parts.pattern
