"""Requests that aren't made, in the order in which they were found, and URLs that were met."""

from __future__ import annotations

import logging
import pickle
import struct
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from itemadapter import is_item
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter, request_from_dict

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.urls import hash_of
from scrapy_neardup.verdict import Verdict

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.reporting import Reporter

logger = logging.getLogger(__name__)

MAX_WITHHELD: Final = 32_768
"""Maximum number of remembered withheld requests; beyond it the oldest are forgotten."""

Why = TypeVar("Why")
"""Why a request isn't made: a value that can be pickled."""


class Withheld(NamedTuple, Generic[Why]):
    """A request that isn't made."""

    request: Request
    why: Why
    was_scheduled: bool
    """Whether the scheduler has seen it and would refuse it."""


class WithheldRequests(BoundedDict[str, Withheld[Why]]):
    """The withheld requests of one crawl by URL, without its fragment, which isn't sent."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(MAX_WITHHELD)
        self._crawler = crawler
        self.forgotten = 0
        """Number of requests that were forgotten, and can't be made any more."""

    def withhold(self, request: Request, why: Why, *, was_scheduled: bool = False) -> bool:
        """Remember a request; return whether it is the first for its URL."""
        url = url_of(request)
        first = self.get(url)
        self.forgotten += first is None and len(self) == MAX_WITHHELD
        was_scheduled |= first is not None and first.was_scheduled
        self[url] = Withheld(request, why, was_scheduled)
        return first is None

    def make(self, urls: Iterable[str]) -> int:
        """Make some of the requests; return their number."""
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  (for the type checker)
        made = 0
        for url in list(urls):
            request, _, was_scheduled = self.pop(url)
            engine.crawl(request.replace(dont_filter=True) if was_scheduled else request)
            made += 1
        return made

    def dump(self) -> Dump:
        """Return what a resumed crawl needs; see `dumped`."""
        told = [((why, was_scheduled), each) for each, why, was_scheduled in self.values()]
        written = dumped(told, self._crawler.spider)
        _warn(len(told) - len(written), "written to")
        return written

    def restore(self, dump: Dump) -> None:
        """Restore the output of `dump`."""
        read = restored(dump, self._crawler.spider)
        _warn(len(dump) - len(read), "read from")
        for why, request in read:
            self[url_of(request)] = Withheld(request, *why)


def _warn(lost: int, done: str) -> None:
    if lost:
        logger.warning(
            "%d withheld requests can't be %s JOBDIR, and aren't made any more: a callback has to"
            " be a method of the spider, and pickle has to know the values of a request",
            lost,
            done,
        )


Dump = list[tuple[Any, bytes]]


def dumped(requests: Iterable[tuple[Any, Request]], spider: Spider | None) -> Dump:
    """Return requests, each after something about it, in types that can be pickled.

    As in Scrapy's queues, a request is left out if its callback isn't a method of the spider,
    or if it has an object that can't be pickled.
    """
    written = []
    for about, request in requests:
        with suppress(Exception):  # such as RecursionError for a tag of Beautiful Soup
            written.append((about, pickle.dumps(request.to_dict(spider=spider))))
    return written


def restored(dump: Dump, spider: Spider | None) -> list[tuple[Any, Request]]:
    """Return what `dumped` has written, except for requests that the project can't read now."""
    requests = []
    for about, written in dump:
        with suppress(Exception):  # such as a request whose callback was renamed
            # The file is as trustworthy as Scrapy's own queues beside it.
            read = request_from_dict(pickle.loads(written), spider=spider)  # noqa: S301
            requests.append((about, read))
    return requests


class Withholding(Generic[Why]):
    """An experiment that withholds requests, and goes on after a pause."""

    _kept: ClassVar[tuple[str, ...]]
    """Names of its other attributes that a resumed crawl needs."""

    def __init__(self, crawler: Crawler) -> None:
        self._withheld: WithheldRequests[Why] = WithheldRequests(crawler)
        self._crawler = crawler

    def _is_its_url(self, request: Request) -> bool:
        """Whether the project's fingerprinter takes a request for the same as any of its URL.

        Of those without a fragment, because URLs are remembered without theirs (`url_of`).
        """
        if request.method != "GET" or request.body:
            return False
        fingerprinter = self._crawler.request_fingerprinter
        if type(fingerprinter) is RequestFingerprinter:
            return True
        with suppress(Exception):  # such as a KeyError for a key of meta
            plain = request.replace(callback=None, errback=None), Request(url_of(request))
            return len(set(map(fingerprinter.fingerprint, plain))) == 1
        return False

    def _tell_forgotten(self, reporter: Reporter, stat: str, what: str) -> None:
        """Count the withheld requests that were forgotten, and warn of them."""
        if number := self._withheld.forgotten:
            reporter.count(stat, number)
            warning = "%d withheld %s: only the last %d are remembered"
            reporter.log.warning(warning, number, what, MAX_WITHHELD)

    @property
    def state(self) -> dict[str, Any]:
        """Return the state for a resumed crawl, in types that can be pickled."""
        kept = {name: getattr(self, name) for name in self._kept}
        return kept | {"withheld": self._withheld.dump()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the `state` of an earlier run, which may have had other settings."""
        self._withheld.restore(state["withheld"])
        for name in self._kept:
            if getattr(self, name) is not None and state.get(name) is not None:
                setattr(self, name, state[name])


def url_of(request: Request) -> str:
    """Return the URL of a request without its fragment."""
    return request.url.partition("#")[0]


def carries_item(request: Request) -> bool:
    """Whether a request carries an item, an item loader or a list of items.

    Dicts in `meta` are mostly options of other packages, except under the key ``item``.
    """
    told = [v for k, v in request.meta.items() if k == "item" or type(v) not in {dict, Verdict}]
    carried = [*told, *request.cb_kwargs.values()]
    flat = [one for each in carried for one in (each if isinstance(each, list) else [each])]
    return any(map(_may_be_item, flat))


def _may_be_item(value: Any) -> bool:
    """Whether a value is an item or has one, or can't be looked into."""
    with suppress(Exception):  # such as a KeyError of `__getattr__`
        return is_item(value) or is_item(getattr(value, "item", None))
    return True


def spread(urls: list[str], number: int) -> list[str]:
    """Return `number` of some URLs, evenly spread, including the last one."""
    step = max(1.0, len(urls) / max(number, 1))
    count = min(number, len(urls))
    return [urls[len(urls) - 1 - int(at * step)] for at in range(count)][::-1]


_DRAWS: Final = 1 << 24


def draw(url: str) -> float:
    """Return a number from 0 to 1 that depends on path and parameters, but not on the host."""
    path = url.partition("://")[2].partition("/")[2]
    return hash_of(f"explore {path}", 8) % _DRAWS / _DRAWS


FIRST: Final = 1 << 20
"""Number of URLs of the first part of a `MetFilter`; each further part has twice as many."""
_URL_BYTES: Final = 2
_HASHES: Final = struct.Struct("<4I")
"""Four bits of a URL. With two bytes a URL .2 % of new URLs look like members of a full part."""


class MetFilter:
    """A set of URLs that never forgets a member, but may take a new URL for one.

    Bloom filters (Bloom, CACM 13(7), 1970), to which a larger one is added when the last is full
    (Almeida et al., Information Processing Letters 101(6), 2007). Of new URLs .2 % look met if a
    million were, 1 % if thirty million were. It takes two megabytes, and two to four bytes a URL.
    """

    __slots__ = ("_left", "_parts")

    def __init__(self) -> None:
        self._left = FIRST
        """Number of URLs that the last part still takes."""
        self._parts = [bytearray(_URL_BYTES * FIRST)]

    def add(self, url: str) -> None:
        """Add a URL."""
        places = _places(url)
        if not self._lacks(places):
            return
        if not self._left:
            self._left = 2 * len(self._parts[-1]) // _URL_BYTES
            self._parts.append(bytearray(_URL_BYTES * self._left))
        self._left -= 1
        bits = self._parts[-1]
        for at in places:
            bits[(at >> 3) % len(bits)] |= 1 << (at & 7)

    def is_new(self, url: str) -> bool:
        """Whether a URL was never added. O(length)."""
        return self._lacks(_places(url))

    def _lacks(self, places: tuple[int, ...]) -> bool:
        for bits in self._parts:
            size = len(bits)
            for at in places:
                if not bits[(at >> 3) % size] >> (at & 7) & 1:
                    break
            else:
                return False
        return True


def _places(url: str) -> tuple[int, ...]:
    data = url.encode("utf-8", "surrogatepass")
    return _HASHES.unpack(blake2b(data, digest_size=_HASHES.size).digest())
