"""The claims that a crawl has used: from an audit or a store, in the formats of other tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from scrapy_neardup.claims.claim import Claim, State, pair_of
from scrapy_neardup.claims.claimbook import (
    ALL,
    ANYWHERE,
    TOPIC,
    ClaimBook,
    Key,
    loaded,
    patterns,
    places,
)
from scrapy_neardup.claims.part import (
    PARAMETER,
    PATH_PARAMETER,
    PATTERN,
    SEGMENT,
    SPENT,
    Part,
    part_of,
)
from scrapy_neardup.claims.urlparts import Parts, name_of


class UsedClaim(NamedTuple):
    """A claim about the URLs of one host."""

    host: str
    key: Key
    claim: Claim

    def covers(self, page: Parts) -> bool:
        """Return whether the claim is about a URL."""
        place, part = self.key
        if page.host != self.host:
            return False
        if part in ALL:
            return place in patterns(page)
        without = part.without(page)
        return without != page and place in {ANYWHERE, *places(part, without)}


def of_audit(entries: Iterable[dict[str, Any]]) -> list[UsedClaim]:
    """Return the claims of audits, those that cover the most requests first, by host.

    `entries` are the lines of the event ``claim``. Raises `ValueError` for others.
    """
    found: dict[tuple[str, Key], Claim] = {}
    for entry in entries:
        key = Key(entry["place"], part_of(entry["part"]))
        claim = found.setdefault((entry["host"], key), Claim(State.IN_FORCE))
        claim.streak, claim.ended, claim.checks = entry["streak"], entry["ended"], entry["checks"]
        claim.covered += entry["covered"]
        claim.withheld += entry["withheld"]
        claim.example = pair_of(entry.get("example"))
    return _sorted([UsedClaim(host, key, claim) for (host, key), claim in found.items()])


def of_notices(notices: Iterable[tuple[str, bytes]]) -> list[UsedClaim]:
    """Return the claims in force that crawlers have posted, given by topic."""
    books: dict[str, ClaimBook] = {}
    for topic, dump in notices:
        about, _, name = topic.partition(" ")
        if about == TOPIC and " " not in name:
            book = books.setdefault(name, ClaimBook())
            for key, claim in loaded(dump):
                book[key] = max(book.get(key, claim), claim, key=_experience)
    return _sorted([
        UsedClaim(name, key, book.summary(key))
        for name, book in books.items()
        for key in book.in_force
    ])  # fmt: skip


def _experience(claim: Claim) -> tuple[int, bool, int, int]:
    return claim.ended, claim.is_in_force, claim.checks, claim.streak


def _sorted(claims: list[UsedClaim]) -> list[UsedClaim]:
    weight: Counter[str] = Counter()
    for host, _, claim in claims:
        weight[host] += claim.covered
    return sorted(
        claims,
        key=lambda each: (-weight[each.host], each.host, -each.claim.covered, -each.claim.streak),
    )


_REMOVAL, _SUBPATH = 1, 2
"""Order in which duplicate-url-discarder applies its processors."""


def dud_rules(
    claims: Sequence[UsedClaim], pages: Iterable[tuple[str, bool]]
) -> tuple[list[dict[str, Any]], list[UsedClaim]]:
    """Return rules for duplicate-url-discarder, and the claims that they can't express.

    That package removes parameters whatever their value, and segments at one place. Its format:
    https://pypi.org/project/duplicate-url-discarder/. `pages` are as for `deny_patterns`.
    """
    known = _known(pages)
    rules: list[dict[str, Any]] = []
    left: list[UsedClaim] = []
    removed: dict[str, dict[str, None]] = {}
    for claim in claims:
        part, at = claim.key.part, _at(claim)
        anywhere = "" if at is None else re.escape(at[:-1]).replace(r"\*", ".*") + r"(?:\?|$)"
        if at is None or _others(claim, known) or _is_too_wide(anywhere, claim, claims, known):
            left.append(claim)
        elif part.kind == PARAMETER:
            removed.setdefault(at, {}).update(dict.fromkeys(part.what.split("&")))
        elif part.kind == SEGMENT and part.by is None and part.place == 0:
            rules.append(_dud(_SUBPATH, at, "subpathRemoval", [0]))
        else:
            left.append(claim)
    rules += [_dud(_REMOVAL, at, "queryRemoval", list(names)) for at, names in removed.items()]
    return sorted(rules, key=lambda rule: (rule["order"], rule["urlPattern"]["include"])), left


def _at(claim: UsedClaim) -> str | None:
    """Return a pattern of the paths that a claim covers: ``*`` is any text, ``|`` the end."""
    path = _path(*claim.key)
    return None if path is None else f"{claim.host}{_NUMBER.sub('*', path)}|"


def _is_too_wide(
    expression: str, claim: UsedClaim, claims: Sequence[UsedClaim], known: dict[Parts, bool]
) -> bool:
    """Return whether an expression matches new pages with the part that no claim covers."""
    part, matches = claim.key.part, re.compile(f"^{_SITE}{expression}", re.IGNORECASE).search
    alike = [each for each in claims if each.key.part == part]
    return any(
        is_new and matches(page.url) and (part in ALL or part.without(page) != page)
        and not any(each.covers(page) for each in alike)
        for page, is_new in known.items()
    )  # fmt: skip


_SITE: Final = r"https?://(?:www\.)?"


def _dud(order: int, pattern: str, processor: str, args: list[Any]) -> dict[str, Any]:
    include = {"include": [pattern]}
    return {"order": order, "urlPattern": include, "processor": processor, "args": args}


def deny_patterns(
    claims: Sequence[UsedClaim], pages: Iterable[tuple[str, bool]]
) -> tuple[list[str], list[UsedClaim], list[UsedClaim]]:
    """Return regular expressions of redundant URLs: other URLs show the same pages.

    An expression excludes the values of a parameter with which the crawl met another page. Also
    return the claims that no expression can express, and those left out because some page has only
    an address that they cover: its links may be found nowhere else.
    `pages` maps the URLs of the crawl to whether their pages were new.
    """
    known = _known(pages)
    patterns: dict[str, None] = {}
    left, needed = [], []
    for claim in claims:
        part, others = claim.key.part, _others(claim, known)
        values = {_value_of(each, part.what) for each in others}
        path = _expression(part, claim.key.place, sorted(values))
        expression = f"{re.escape(claim.host)}{path}"
        if path is None or (others and part.kind != PARAMETER) or len(values) > MAX_VALUES:
            left.append(claim)
        elif _is_too_wide(expression, claim, claims, known) or any(
            is_new and _is_alone(claim, page, known) for page, is_new in known.items()
        ):
            needed.append(claim)
        else:
            patterns[f"^{_SITE}{expression}"] = None
    return list(patterns), left, needed


def exceptions(claims: Sequence[UsedClaim], pages: Iterable[tuple[str, bool]]) -> list[str]:
    """Return the new pages that claims cover, though the page that they predict was new, too."""
    met = [(parts, url) for url, is_new in pages if is_new and (parts := Parts.of(url))]
    known = dict(met)
    return [
        url for parts, url in met
        if any(each.covers(parts) and each.key.part.without(parts) in known for each in claims)
    ]  # fmt: skip


def _known(pages: Iterable[tuple[str, bool]]) -> dict[Parts, bool]:
    known: dict[Parts, bool] = {}
    for url, is_new in pages:
        if (parts := Parts.of(url)) is not None:
            known[parts] = known.get(parts, False) or is_new
    return known


def _others(claim: UsedClaim, known: dict[Parts, bool]) -> list[Parts]:
    """Return the new pages whose value of the parameter the claim doesn't cover.

    The pages without the part were new, too. Audits don't have the values that a claim covers
    (`Claim.covers`), so the values of pages that repeat others are taken.
    """
    part, found_true = claim.key.part, Claim()
    if part in ALL:
        return []
    covered = [
        (page, is_new, part.values(page)) for page, is_new in known.items() if claim.covers(page)
    ]
    for page, is_new, values in covered:
        if not is_new and part.without(page) in known:
            found_true.see(values)
    return [
        page for page, is_new, values in covered
        if is_new and known.get(part.without(page)) and not found_true.covers(values)
    ]  # fmt: skip


def _value_of(page: Parts, name: str) -> str:
    """Return a parameter's value as it is written; ``""`` if there is none."""
    return next((each.partition("=")[2] for each in page.query if name_of(each) == name), "")


def _is_alone(claim: UsedClaim, page: Parts, known: dict[Parts, bool]) -> bool:
    """Return whether the crawl met a new page only under URLs that a claim covers."""
    part = claim.key.part
    is_all = part.kind in {PATTERN, SPENT}
    return claim.covers(page) and (is_all or part.without(page) not in known)


MAX_VALUES: Final = 20
"""Maximum number of values of a parameter that an expression excludes."""

_NAMES: Final = {
    PARAMETER: r"\?(?:[^#]*[&;])?{what}(?:[=&;#]|$)",
    PATH_PARAMETER: r";{what}(?:[=;/?#]|$)",
}
_NUMBER: Final = re.compile(r"(?<=/)N(?=/|\\?\.|$)")
"""``N`` in a place, escaped or not, if it represents a number or an id."""


def _path(place: str, part: Part) -> str | None:
    """Return the paths that a claim covers, as a place; None if no place says it."""
    if "+" in place or "…" in place:
        return None
    path = place.partition("?")[0]
    if part.kind != SEGMENT:
        return path
    segments = path[1:].split("/")
    at = part.place + (len(segments) + (part.by is None) if part.place < 0 else 0)
    segments[at : at + (part.by is not None)] = [part.what]
    return "/" + "/".join(segments)


def _expression(part: Part, place: str, but: Sequence[str] = ()) -> str | None:
    """Return the regular expression of the paths that a claim covers, except the values `but`."""
    path = _path(place, part)
    if path is None:
        return None
    shape = _NUMBER.sub("[0-9a-zA-Z_-]+", re.escape(path)).replace(r"\*", "[^/?#]*")
    if part.kind in {PATTERN, SPENT}:
        query = place.partition("?")[2]
        each = [re.escape(name.removesuffix("=")) for name in query.split("&")]
        parameters = rf"\?(?:(?:{'|'.join(each)})(?:=[^&;#]*)?(?:[&;]|$)){{{len(each)}}}"
        return f"{shape}{parameters if query else ''}$"
    if part.kind == SEGMENT:
        return f"{shape}(?:[?#]|$)"
    names = _NAMES.get(part.kind)
    if names is None or "&" in part.what:
        return None
    start = shape if part.kind == PARAMETER else "/[^?#]*"
    what = re.escape(part.what)
    if but:
        what += rf"(?!=(?:{'|'.join(map(re.escape, but))})(?:[&;#]|$))"
    return start + names.format(what=what)
