"""How the pages of `hazards.py` are written, and what a kind of pages is.

A kind adds some fourteen pages to a `Site`: different goods, or one page again and again. All are
listed in ``hazards.txt``, in the form that `made.kinds` describes; a description is a noun phrase
that says what the pages are and what they differ in. Each kind is made in each of the `TEMPLATES`,
from a generator that only the names of the two set.
"""

from __future__ import annotations

import json
from calendar import monthrange
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from made import kinds, sentences
from made.sentences import BODY, CITIES, FIRST, JOB, LAST, MONTHS, NOTICE, QUALITIES, SHOP, THINGS
from made.world import Page, slug

TEMPLATES = ("sparse", "themed", "plain", "wordy")
"""How a site dresses its pages. With a few words, in elements that say what they are: ``sparse``,
and ``wordy``, whose pages share 800 words of content. With 350 words in elements with the class
names of shop software (``themed``), or 1,200 in elements without names (``plain``)."""

KNOWN = frozenset({"themed", "wordy"})
"""Templates in which a crawl has seen other pages of the site before."""

COUNT = 14
"""Number of pages of most kinds."""

Shown = Literal["text", "title", "markup", "address"]
"""Where pages differ: in visible text, in the title, in images or embedded data, or in nothing but
their address."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of pages: its name, a noun phrase that describes it, and what adds them to a site."""

    name: str
    says: str
    fill: Callable[[Site], None]
    shown: Shown = "text"
    repeats: bool = False
    """Whether its pages show a user again what others have shown: these are to be found."""

    def site(self, template: str) -> Site:
        site = Site(self.name, template)
        self.fill(site)
        urls = [page.url for page in site.pages]
        assert len(set(urls)) == len(urls) > 1, f"{self.name}: two pages have the same URL"
        return site


class Site:
    """The pages of a site in one template, and what they are made of.

    `before` are pages that a crawl sees before `pages`, those of the kind.
    """

    def __init__(self, name: str, template: str) -> None:
        self.chance = Random(f"{name} {template}")
        self.template = template
        self.host = f"www.{name}-{template}.example"
        self.pages: list[Page] = []
        self._notice = self.sentences(SHOP, 22)
        if template == "plain":
            self._notice += self._recombined([*SHOP, *NOTICE, *JOB])
        self._menu = "".join(
            f'<li><a href="/{quality}-{thing}s">{quality} {thing}s</a></li>'
            for quality, thing in zip(QUALITIES, self.shuffled(THINGS), strict=True)
        )
        for number in range(12 if template in KNOWN else 0):
            text = f"<p>{self.sentences([*BODY, *JOB, *NOTICE], 12)}</p>"
            self.add(f"/about/{number}", f"About us, part {number}", text)
        self.before, self.pages = self.pages, []

    def add(
        self,
        path: str,
        title: str,
        body: str,
        *,
        content: Hashable = None,
        head: str = "",
        media_type: str = "",
        again: str = "",
    ) -> None:
        """Add a page: its path with the query, the HTML of its body and head, and what it shows.

        With a `media_type`, which the response declares, the body is all of it. `again` is the
        body of another response to the same request.
        """

        def html(body: str) -> str:
            return (
                '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                f"<title>{title}</title>{head}</head>\n"
                f"<body>\n{self._dressed(body)}\n</body></html>"
            )

        url, shown = f"https://{self.host}{path}", body if media_type else html(body)
        content = path if content is None else content
        self.pages.append(
            Page(
                url,
                shown,
                content,
                media_type=media_type or "text/html",
                again=html(again) if again else "",
            )
        )

    def text(self, texts: Sequence[str], count: int) -> str:
        more = self._recombined([*BODY, *JOB]) if self.template == "wordy" else ""
        return f"<p>{self.sentences(texts, count)}</p>" + (f"<p>{more}</p>" if more else "")

    def sentences(self, texts: Sequence[str], count: int) -> str:
        return " ".join(self.chance.sample(texts, min(count, len(texts))))

    def shuffled(self, names: Sequence[str]) -> list[str]:
        return self.chance.sample(names, len(names))

    def people(self, count: int = COUNT) -> list[str]:
        names = zip(self.shuffled(FIRST), self.shuffled(LAST), strict=True)
        return [" ".join(name) for name in names][:count]

    def cities(self, count: int = COUNT) -> list[str]:
        return self.shuffled(CITIES)[:count]

    def things(self, count: int = COUNT) -> list[str]:
        names = zip(self.shuffled(QUALITIES), self.shuffled(THINGS), strict=True)
        return [" ".join(name) for name in names][:count]

    def price(self) -> str:
        return f"{self.chance.randint(500, 99_999) / 100:.2f}"

    def numbers(self, low: int, high: int, count: int = COUNT) -> list[int]:
        return self.chance.sample(range(low, high), count)

    def dates(self, count: int = COUNT) -> Iterator[tuple[str, str]]:
        """Yield dates of one year, a fortnight apart, as in addresses and as in texts."""
        for number in range(count):
            month, day = divmod(number * 14, 28)
            yield f"2026-{month + 1:02}-{day + 1:02}", f"{day + 1} {MONTHS[month]} 2026"

    def orders(self, count: int) -> Iterator[list[Page]]:
        """Yield the pages in the site's own order, in reverse, and in orders of chance."""
        yield from (self.pages, self.pages[::-1])[:count]
        for number in range(2, count):
            yield Random(number).sample(self.pages, len(self.pages))

    def _recombined(self, sentences: Sequence[str]) -> str:
        """Return as many sentences, made of the first half of one and the second of another."""
        halves = [(words[: len(words) // 2], words[len(words) // 2 :])
                  for words in map(str.split, sentences)]  # fmt: skip
        second = self.chance.sample(halves, len(halves))
        mixed = [[*start, *end] for (start, _), (_, end) in zip(halves, second, strict=True)]
        return " ".join(" ".join(words) for words in [*mixed, *map(str.split, sentences)])

    def _dressed(self, body: str) -> str:
        match self.template:
            case "sparse" | "wordy":
                return (
                    '<header><a href="/">Home</a> <a href="/contact">Contact</a></header>'
                    f"<main>{body}</main><footer>All rights reserved.</footer>"
                )
            case "themed":
                return (
                    f'<div class="shop-announcement">{self._notice[:120]}</div>'
                    f'<div class="site-header"><ul class="menu">{self._menu}</ul></div>'
                    f'<div id="MainContent">{body}</div>'
                    f'<div class="site-footer"><p>{self._notice}</p></div>'
                )
            case _:
                return (
                    f"<div><ul>{self._menu}</ul><div>{body}</div>"
                    f"<div><p>{self._notice}</p></div></div>"
                )


def linked_data(**values: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(values)}</script>'


def table(*rows: Sequence[object]) -> str:
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def listed(entries: Sequence[object]) -> str:
    return "<ul>" + "".join(f"<li>{entry}</li>" for entry in entries) + "</ul>"


def _posting(city: str, number: int) -> str:
    place = {"@type": "Place", "address": {"addressLocality": city}}
    return linked_data(**{"@type": "JobPosting"}, identifier=number, jobLocation=place)


def _offer(name: str, price: str) -> str:
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
    return linked_data(
        **{"@context": "https://schema.org", "@type": "Product"}, name=name, offers=offer
    )


_WORDS = vars(sentences) | {
    "COUNT": COUNT, "monthrange": monthrange, "_offer": _offer, "_posting": _posting, "json": json,
    "linked_data": linked_data, "listed": listed, "slug": slug, "table": table,
}  # fmt: skip


def _kind(block: kinds.Block) -> Kind:
    def fill(site: Site) -> None:
        methods = {name: getattr(site, name) for name in dir(site) if name[0] != "_"}
        for page in block.pages(_WORDS | methods):
            site.add(page.pop("path"), page.pop("title"), page.pop("body"), **page)

    return Kind(block.name, block.says, fill, **block.options)


KINDS = {
    block.name: _kind(block) for block in kinds.read(Path(__file__).with_name("hazards.txt"), {})
}
"""Every kind by its name."""
