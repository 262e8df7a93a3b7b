"""Made-up sites with a known truth ("worlds"): how pages are written, and what a family is.

A world is one site, or several hosts, as a list of pages in the order in which the site links to
them. Each page names the content that it shows: an earlier page of the same content makes it a
repetition, and a content of which no page is delivered is lost. Everything is drawn from a
generator that the family's name and a seed set, so a world is the same wherever it is made.

A family fills a `World`. Most are listed in ``families.txt``, in the form that `made.kinds`
describes; the others are functions (`made.families`). Its description is one sentence that says
what its pages show, and whether repetitions must be found or pages that look alike must never be
lost.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import accumulate, groupby
from random import Random
from typing import NamedTuple

CONSONANTS = (*"bcdfghlmnprstv", "st", "tr")
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in "aeiou"]
FREQUENT = """
the of and to a in is for that it with as on be at by this are or from an not which can if has was
have when all one will may its more their other than use into only such also
"""
VOCABULARY = 12_000
"""Words of the language in which the worlds are written."""

STYLES = ("plain", "tags", "names", "table")
"""How a host dresses its pages: not at all; with navigation and a footer in HTML's own elements;
in elements whose names say it; or in the cells of a table, with breaks between paragraphs."""


@dataclass(frozen=True, slots=True)
class Page:
    """One URL, which no other page of a world has, and its response."""

    url: str
    html: str
    content: Hashable
    """What the page shows: pages of the same content repeat each other."""
    section: str = ""
    """The part of the site in which it stands, for orders of sections."""
    media_type: str = "text/html"
    again: str = ""
    """Another response to the same request; ``""``: it is the same."""


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of site: its name, a sentence that describes it, and what adds the pages."""

    name: str
    says: str
    fill: Callable[[World], None]
    numbers_alone: bool = False
    """Whether its contents differ in nothing but numbers; such families are counted apart."""

    def world(self, seed: int) -> World:
        world = World(self.name, seed)
        self.fill(world)
        urls = [page.url for page in world.pages]
        assert len(set(urls)) == len(urls), f"{self.name}: two pages have the same URL"
        return world


FAMILIES: dict[str, Family] = {}
"""Every family by its name."""


class Fetch(NamedTuple):
    """A request for an article of which a part changes with each response."""

    path: str
    title: str
    content: int
    section: str
    html: str


class World:
    """The pages of a made-up site, and what writes them."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.chance = Random(f"{name} {seed}")
        self.pages: list[Page] = []
        self._folder = ""
        self.host = Host(self, STYLES[seed % len(STYLES)])

    def unlike(self, count: int) -> list[str]:
        first, second = self.names(count), self.names(count)
        return [f"{a} {b.lower()}" for a, b in zip(first, second, strict=True)]

    def characters(self, count: int) -> str:
        drawn = (chr(0x4E00 + int(self.chance.paretovariate(0.4)) % 6000) for _ in range(count))
        return "".join(drawn)

    def moment(self) -> str:
        hour, minute, second = (self.chance.randrange(end) for end in (24, 60, 60))
        return f"{self.chance.randint(1, 28)} May 2024, {hour:02}:{minute:02}:{second:02}"

    def seconds(self) -> str:
        return f"{self.chance.random():.4f}"

    def two_lines(self) -> str:
        visitor = self.chance.randint(1000, 999999)
        return f"<p>You are visitor {visitor}</p><p>Page generated in {self.seconds()} s</p>"

    def fetches(self, words: int, count: int = 3, pages: int = 60) -> Iterator[Fetch]:
        """Yield requests for articles of so many words, each under `count` session ids."""
        queries = self.sessions(count)
        titles = (self.title() for _ in range(pages))
        articles = [(title, f"<h1>{title}</h1>\n{self.paragraphs(words)}") for title in titles]
        for query in queries:
            for number, (title, html) in enumerate(articles):
                yield Fetch(f"/articles/{number}{query}", title, number, query, html)

    def new_host(self, style: str | None = None) -> Host:
        others = [each for each in STYLES[1:] if each != self.host.style]
        return Host(self, style or self.chance.choice(others))

    def words(self, count: int) -> list[str]:
        words, weights = _language()
        share = self.chance.random
        return [words[bisect(weights, share() * weights[-1])] for _ in range(count)]

    def names(self, count: int) -> list[str]:
        """Return rare words that differ from each other: names of things, places, people."""
        words, _ = _language()
        return [word.capitalize() for word in self.chance.sample(words[2000:], count)]

    def title(self, count: int = 4) -> str:
        """Return a heading of `count` words, none of them a frequent one."""
        words, _ = _language()
        return " ".join(self.chance.choices(words[100:6000], k=count)).capitalize()

    def prose(self, count: int) -> str:
        words = self.words(count)
        at = 0
        while at < count:
            length = min(self.chance.randint(5, 18), count - at)
            words[at] = words[at].capitalize()
            if length > 9:
                words[at + length // 2] += ","
            at += length
            words[at - 1] = words[at - 1].rstrip(",") + "."
        return " ".join(words)

    def paragraphs(self, count: int) -> str:
        """Return `count` words as HTML paragraphs of 30 to 90 words."""
        parts = []
        while count > 0:
            length = count if count < 90 else self.chance.randint(30, min(count, 90))
            parts.append(f"<p>{self.prose(length)}</p>")
            count -= length
        return "\n".join(parts)

    def links(self, count: int, words: int = 3) -> str:
        titles = (self.title(words) for _ in range(count))
        return "".join(f'<li><a href="/{slug(each)}">{each}</a></li>' for each in titles)

    def token(self, digits: int = 16) -> str:
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"

    def sessions(self, count: int = 3) -> list[str]:
        """Return queries that name a session, by one of the names that sites use."""
        name = self.chance.choice(["sid", "PHPSESSID", "session", "s", "token"])
        digits = self.chance.choice([8, 16, 32])
        return [f"?{name}={self.token(digits)}" for _ in range(count)]

    def part(self, folder: str, family: str) -> None:
        self._folder = f"/{folder}"
        FAMILIES[family].fill(self)
        self._folder = ""

    def add(
        self,
        path: str,
        content: Hashable,
        *body: str,
        title: str = "",
        host: Host | None = None,
        section: object = "",
        language: str = "en",
        again: str = "",
    ) -> None:
        host = host or self.host
        content = path if content is None else content
        html = host.dress(title, "\n".join(body), language)
        if self._folder:
            path, content = self._folder + path, (self._folder, content)
            section = f"{self._folder} {section}"
        other = host.dress(title, again, language) if again else ""
        page = Page(f"http://{host.name}{path}", html, content, str(section), again=other)
        self.pages.append(page)

    def orders(self, count: int) -> Iterator[tuple[str, list[Page]]]:
        """Yield the names of `count` orders and the pages in them.

        The site's own; its sections from last to first (or its pages, if it has but one); and
        random ones.
        """
        yield from (("own", self.pages), ("reversed", self._reversed()))[:count]
        for number in range(2, count):
            order = Random(number).sample(self.pages, len(self.pages))
            yield f"random {number - 1}", order

    def _reversed(self) -> list[Page]:
        sections = [list(pages) for _, pages in groupby(self.pages, lambda page: page.section)]
        if len(sections) == 1:
            return self.pages[::-1]
        return [page for section in reversed(sections) for page in section]


class Host:
    """A host name and the template of its pages."""

    def __init__(self, world: World, style: str) -> None:
        first, second = world.names(2)
        self.name = f"{first}-{second}.example".lower()
        self.style = style
        self.brand = f"{first} {second}"
        self._title = world.chance.choice(["{0}", "{0} - {1}", "{0} | {1}", "{1}: {0}"])
        self._links = world.links(world.chance.randint(6, 14), 2)
        self._footer = world.prose(world.chance.randint(12, 40))

    def dress(self, title: str, body: str, language: str = "en") -> str:
        if title:
            title = escape(self._title.format(title, self.brand))
        links, footer = f"<ul>{self._links}</ul>", f"<p>{self._footer}</p>"
        match self.style:
            case "tags":
                body = (
                    f"<header><p>{self.brand}</p></header><nav>{links}</nav>"
                    f"<main>{body}</main><footer>{footer}</footer>"
                )
            case "names":
                body = (
                    f'<div id="masthead">{self.brand}</div><div class="navbar">{links}</div>'
                    f'<div id="content">{body}</div><div class="site-footer">{footer}</div>'
                )
            case "table":
                body = body.replace("<p>", "").replace("</p>", "<br><br>")
                body = (
                    f'<table><tr><td colspan="2"><b>{self.brand}</b></td></tr>'
                    f"<tr><td>{links}</td><td>{body}</td></tr>"
                    f'<tr><td colspan="2">{footer}</td></tr></table>'
                )
        return (
            f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8">'
            f"<title>{title}</title></head>\n<body>\n{body}\n</body></html>"
        )


def slug(title: str) -> str:
    return title.lower().replace(" ", "-")


@cache
def _language() -> tuple[list[str], list[float]]:
    """Return the words of the language, and their cumulative weights by Zipf's law."""
    chance = Random("language")
    made: dict[str, None] = dict.fromkeys(FREQUENT.split())
    while len(made) < VOCABULARY:
        length = 2 if len(made) < 1500 else chance.choice([2, 3, 3, 4])
        made["".join(chance.choices(SYLLABLES, k=length))] = None
    weights = accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY))
    return list(made), list(weights)
