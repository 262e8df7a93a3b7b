"""The made-up sites of `focused.py`: families of pages, and what changes on every response.

Rule of this module: a family is a generator that draws what all of its pages share, and then
yields one page after the other, each with something of its own; nothing else differs. The
truth is so by construction.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random

_SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er")]


def _vocabulary(words: int) -> list[str]:
    chance = Random("vocabulary")
    made = {"".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(words)}
    return chance.sample(sorted(made), len(made))


_WORDS = _vocabulary(6000)
_FREQUENCY = list(accumulate(1 / (rank + 3) for rank in range(len(_WORDS))))  # Zipf's law
_MONTHS = [name.lower() for name in calendar.month_name[1:]]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a page says, without what is around it."""

    title: str
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A page as it was served once."""

    page: int
    url: str
    html: str
    draft: Draft


Family = Callable[[Random], Iterator[Draft]]


def prose(chance: Random, low: int, high: int | None = None) -> str:
    """Return so many words, frequent ones more often."""
    words = chance.choices(_WORDS, cum_weights=_FREQUENCY, k=chance.randint(low, high or low))
    return " ".join(words)


def name(chance: Random) -> str:
    """Return two words."""
    return " ".join(chance.choices(_WORDS, k=2))


def number(chance: Random) -> str:
    """Return a number of two to five digits."""
    return str(chance.randrange(10, 10 ** chance.randint(2, 5)))


# ---- families ------------------------------------------------------------------------------


def unrelated(low: int, high: int) -> Family:
    """Short pages that have nothing in common."""

    def family(chance: Random) -> Iterator[Draft]:
        while True:
            yield Draft(name(chance), (prose(chance, low, high),))

    return family


def phrase(low: int, high: int) -> Family:
    """One phrase for all pages, and one word in it that is the page's own."""

    def family(chance: Random) -> Iterator[Draft]:
        said = prose(chance, low, high).split()
        place = chance.randint(0, len(said) - 1)
        for own in chance.sample(_WORDS, len(_WORDS)):
            yield Draft(own, (" ".join([*said[:place], own, *said[place:]]),))

    return family


def product_name(chance: Random) -> Iterator[Draft]:
    """A template of 150 to 300 words under a name."""
    template = prose(chance, 150, 300)
    while True:
        own = name(chance)
        yield Draft(own, (own, template))


def sections(chance: Random) -> Iterator[Draft]:
    """Six templates, each under names of its own, among pages that have nothing in common."""
    families = [product_name(chance) for _ in range(6)] + [unrelated(150, 300)(chance)]
    while True:
        for family in families:
            yield next(family)


def product_code(chance: Random) -> Iterator[Draft]:
    """The same with a code and a price within, and one heading for all."""
    heading, before, after = name(chance), prose(chance, 20, 50), prose(chance, 130, 250)
    while True:
        code, price = f"{chance.choice('abc')}{number(chance)}", number(chance)
        yield Draft(f"{heading} {code}", (heading, before, f"no {code}", f"{price}.00", after))


def product_description(chance: Random) -> Iterator[Draft]:
    """The same with a name and 10 to 40 words within."""
    before, after = prose(chance, 20, 50), prose(chance, 130, 250)
    while True:
        own = name(chance)
        yield Draft(own, (own, before, prose(chance, 10, 40), after))


def job(chance: Random) -> Iterator[Draft]:
    """An offer that names its place three times."""
    heading, *parts = name(chance), *(prose(chance, 60, 100) for _ in range(3))
    for place in chance.sample(_WORDS, len(_WORDS)):
        blocks = (f"{heading} {place}", *(f"{part} {place}" for part in parts))
        yield Draft(f"{heading} {place}", blocks)


def branch(chance: Random) -> Iterator[Draft]:
    """An address within 60 to 150 words."""
    before, after = prose(chance, 20, 50), prose(chance, 40, 100)
    while True:
        place = chance.choice(_WORDS)
        street = f"{number(chance)} {name(chance)} {place}"
        telephone = " ".join(number(chance) for _ in range(3))
        yield Draft(f"{place} {street}", (place, before, street, telephone, after))


def profile(chance: Random) -> Iterator[Draft]:
    """Someone who hasn't said anything yet."""
    before, after = prose(chance, 8, 20), prose(chance, 20, 40)
    for own in chance.sample(_WORDS, len(_WORDS)):
        yield Draft(own, (own, f"{before} {own} {after}"))


def report(chance: Random) -> Iterator[Draft]:
    """Three hundred words of which the year and ten numbers change."""
    heading, parts = name(chance), [prose(chance, 28) for _ in range(10)]
    for year in range(1900, 2100):
        said = tuple(f"{part} {number(chance)}" for part in parts)
        blocks = (f"{heading} {year}", *said, f"{prose(Random(1), 4)} {year}")
        yield Draft(f"{heading} {year}", blocks)


def figures(chance: Random) -> Iterator[Draft]:
    """A table of which all numbers change, in a hundred words that don't."""
    before, after = prose(chance, 50), prose(chance, 50)
    heads = [prose(chance, 2) for _ in range(20)]
    for year in range(1900, 2100):
        rows = (" ".join([head, *(number(chance) for _ in range(6))]) for head in heads)
        yield Draft(f"{heads[0]} {year}", (f"{before} {year}", *rows, after))


def months(chance: Random) -> Iterator[Draft]:
    """A calendar, with three events in each month."""
    words = prose(chance, 40, 80)
    for year in range(2000, 2100):
        for month, named in enumerate(_MONTHS, 1):
            weeks = calendar.monthcalendar(year, month)
            grid = (" ".join(str(day) for day in week if day) for week in weeks)
            events = (f"{chance.randint(1, 28)} {prose(chance, 8)}" for _ in range(3))
            yield Draft(f"{named} {year}", (f"{named} {year}", *grid, *events, words))


def version(chance: Random) -> Iterator[Draft]:
    """A page of a manual, of each version: 300 to 800 words that name it four times."""
    heading, parts = name(chance), [prose(chance, 100, 260) for _ in range(3)]
    for minor in range(200):
        said = (f"{part} 3.{minor}" for part in parts)
        yield Draft(f"{heading} 3.{minor}", (f"{heading} 3.{minor}", *said))


UNRELATED: dict[str, Family] = {
    "5 to 15 words": unrelated(5, 15),
    "16 to 31 words": unrelated(16, 31),
    "32 to 100 words": unrelated(32, 100),
}

VERSIONS = "version"
"""Whether these are pages of their own depends on the crawl."""

FAMILIES: dict[str, Family] = UNRELATED | {
    "phrase of 8 to 31": phrase(8, 31),
    "phrase of 32 to 100": phrase(32, 100),
    "profile": profile,
    "branch": branch,
    "job": job,
    "product, name": product_name,
    "products of 6 kinds": sections,
    "product, code": product_code,
    "product, description": product_description,
    "report": report,
    "figures": figures,
    "months": months,
    VERSIONS: version,
}
"""Name -> generator of pages, every one with something of its own."""


# ---- what changes --------------------------------------------------------------------------


def _links(chance: Random) -> str:
    return f'<a href="/basket?sid={chance.getrandbits(64):x}">basket</a>'


def _clock(chance: Random) -> str:
    time = f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
    return f"<div>{chance.randint(1, 28)} {chance.choice(_MONTHS)} 2026 {time}</div>"


def _counter(chance: Random) -> str:
    return f"<div>you are visitor number {chance.randrange(10**5, 10**6)}</div>"


def _advert(chance: Random) -> str:
    return f"<div>{prose(chance, 10, 16)}</div>"


CHANGES: dict[str, Callable[[Random], str]] = {
    "links": _links,
    "clock": _clock,
    "counter": _counter,
    "advert": _advert,
}
"""Name -> HTML that is another one at each response, and says nothing of the page."""


# ---- sites ---------------------------------------------------------------------------------


def arrivals(
    family: str, change: str, chance: Random, *, pages: int, times: int, titled: bool
) -> list[Arrival]:
    """Return pages of a family as a site serves them, each so many times, in random order.

    `titled`: each has a title of its own; otherwise all have that of the site.
    """
    site = name(chance)
    root = f"http://{site.replace(' ', '-')}.test"
    around = _surroundings(chance, site)
    distinct: dict[Draft, None] = {}
    for draft in FAMILIES[family](chance):
        distinct[draft if titled else replace(draft, title=site)] = None
        if len(distinct) == pages:
            break
    served = [
        Arrival(
            page=page,
            url=f"{root}/{page // 20}/{page}{_session(chance, time)}",
            html=around(draft, CHANGES[change](chance)),
            draft=draft,
        )
        for page, draft in enumerate(distinct)
        for time in range(times)
    ]
    return chance.sample(served, len(served))


def _session(chance: Random, time: int) -> str:
    """Return what a link to a page ends with, which may have led to it without a session."""
    return f"?sid={chance.getrandbits(64):x}" if time else ""


def _surroundings(chance: Random, site: str) -> Callable[[Draft, str], str]:
    """Return how a site puts its navigation and footer around a page; not all name them."""
    links = " ".join(f'<a href="/{n}">{prose(chance, 1, 2)}</a>' for n in range(12))
    legal = prose(chance, 8, 20)
    above, within, below = chance.choice([
        (f"<nav>{links}</nav>", "main", f"<footer>{legal}</footer>"),
        (f'<div id="nav">{links}</div>', "article", f'<div class="footer">{legal}</div>'),
        (f'<ul class="menu">{links}</ul>', "div", f"<p>{legal}</p>"),
    ])  # fmt: skip

    def html(draft: Draft, change: str) -> str:
        heading, *blocks = draft.blocks
        body = "".join(f"<p>{block}</p>" for block in blocks)
        first = f"<h1>{heading}</h1>" if blocks else f"<p>{heading}</p>"
        title = draft.title if draft.title == site else f"{draft.title} - {site}"
        return (
            f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{above}"
            f"<{within}>{first}{body}{change}</{within}>{below}</body></html>"
        )

    return html
