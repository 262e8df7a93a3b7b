"""The requests that URL rules skip, and which of them are made to check the rules."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scrapy.utils.request import request_from_dict

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.urlparts import Parts, hash_of
from scrapy_neardup.dust.urlrule import MAX_DIFFERENCES

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from scrapy_neardup.dust.host import Hosts
    from scrapy_neardup.dust.urlrule import Rule

REMEMBERED_SKIPS: Final = 32_768
"""Maximum number of skipped requests that are remembered; of more, the oldest are forgotten, or
made if they wait."""

MAX_IN_A_ROW: Final = 60
"""Maximum number of requests in a row that a rule skips and none of which is made all the same."""

FEW_IN_A_ROW: Final = 10
"""Number of them from which on the last one is made before the crawl ends."""

HostRule = tuple[str, "Rule"]
"""A rule of a host, by the host's name."""


class Skipped(NamedTuple):
    """A request that wasn't made."""

    request: Request
    rules: tuple[Rule, ...]
    key: int
    """Of the URL under the rules (`Host.joined`)."""
    was_scheduled: bool
    """Whether the scheduler has seen it, and would refuse it."""
    waits: bool
    """Whether its page was only pending."""


class Skips(BoundedDict[str, Skipped]):
    """The skipped requests of one crawl by URL, the oldest first.

    Parameters
    ----------
    hosts
        The hosts of the crawl, whose rules are checked.
    explore
        The share of the requests that are made all the same.
    """

    def __init__(self, hosts: Hosts, explore: float) -> None:
        super().__init__(REMEMBERED_SKIPS)
        self._hosts = hosts
        self._explore = round(explore * (1 << VALUE_BITS))
        self._explored: BoundedDict[str, tuple[Rule, ...]] = BoundedDict(REMEMBERED_SKIPS)
        """URLs of requests that are made although rules skip them."""
        self._checked: Counter[HostRule] = Counter()
        """Rules -> such requests whose pages were judged, or that end the crawl."""
        self._in_a_row: Counter[HostRule] = Counter()
        """Rules -> requests that they have skipped since such a request."""

    def is_explored(self, url: str, host: str, rules: Sequence[Rule]) -> bool:
        """Whether a request that rules skip is made all the same, to check them."""
        keys = [(host, rule) for rule in rules]
        is_drawn = hash_of(f"explore {url}", VALUE_BITS) < self._explore
        if is_drawn or (self._explore and any(self._in_a_row[k] >= MAX_IN_A_ROW for k in keys)):
            for key in keys:
                self._in_a_row[key] = 0
            self._explored[url] = tuple(rules)
            return True
        self._in_a_row.update(keys)
        return False

    def judged(self, url: str, host: str) -> None:
        """Note that the page of a URL was judged."""
        for rule in self._explored.pop(url, ()):
            self._checked[host, rule] += 1

    def unchecked(self) -> list[str]:
        """Return the URLs of skipped requests that are made to confirm their rules.

        First the last one of each rule, then those that several rules skip: they check them all.
        """
        rules_of: dict[str, set[HostRule]] = {}
        lacking: Counter[HostRule] = Counter()
        last: dict[HostRule, str] = {}
        for url, skipped in self.items():
            if (parts := Parts.of(url)) and (host := self._hosts.get(parts.host)):
                rules_of[url] = {(parts.host, rule) for rule in skipped.rules}
                for key in rules_of[url] - lacking.keys():
                    lacking[key] = host.lacks(key[1], self._checked[key])
                last |= dict.fromkeys(rules_of[url], url)
        chosen = list(
            {url: None for key, url in last.items() if self._in_a_row[key] >= FEW_IN_A_ROW}
        )
        self._in_a_row.clear()
        for url in chosen:
            lacking.subtract(rules_of[url])
            self._checked.update(rules_of.pop(url))
        urls = sorted(rules_of, key=lambda url: hash_of(url, VALUE_BITS))
        for least in range(MAX_DIFFERENCES + 1, 0, -1):
            for url in urls:
                keys = [key for key in rules_of[url] if lacking[key] > 0]
                if len(keys) >= least:
                    lacking.subtract(keys)
                    self._checked.update(rules_of.pop(url))
                    chosen.append(url)
            urls = [url for url in urls if url in rules_of]
        return chosen

    def dump(self, spider: Spider | None) -> dict[str, Any]:
        """Return what a resumed crawl needs, in types that can be pickled.

        As in Scrapy's queues, a request is left out if its callback isn't a method of the spider,
        or if it holds what can't be pickled.
        """
        requests = []
        for request, *rest in self.values():
            with suppress(ValueError, pickle.PicklingError, AttributeError, TypeError):
                requests.append((pickle.dumps(request.to_dict(spider=spider)), *rest))
        checks = self._explored, self._checked, self._in_a_row
        return {"requests": requests, "checks": checks}

    def restore(self, dump: dict[str, Any], spider: Spider | None) -> None:
        """Restore the output of `dump`."""
        self._explored, self._checked, self._in_a_row = dump["checks"]
        for written, *rest in dump["requests"]:
            # As Scrapy's own queues beside it, the file is the user's.
            request = request_from_dict(pickle.loads(written), spider=spider)  # noqa: S301
            self[requested(request)] = Skipped(request, *rest)


def requested(request: Request) -> str:
    """Return the URL without its fragment, which isn't sent."""
    return request.url.partition("#")[0]
