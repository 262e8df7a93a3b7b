"""Made-up sites whose parameters matter on a tenth of their pages, and where nobody could know.

A kind of site says which other addresses a page has, and whether they show something else there.
Which pages these are is drawn from a seed, or they stand together (in one folder, or at the end of
the site), which is harder. All else is the same: an index in parts leads to the pages, and each
page to its other addresses. Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from random import Random

PAGES = 240
"""Number of pages, each with a few more addresses."""
LISTED = 40
"""Number of pages that a part of the index lists."""
SHARE = 0.1
"""The share of pages on which the other addresses matter."""

_CONSONANTS = "bcdfghlmnprstv"
WORDS = [f"{a}{v}{b}{w}" for a in _CONSONANTS for v in "aeiou" for b in "lnrst" for w in "aeo"]


@dataclass(frozen=True)
class Kind:
    """A kind of site.

    Parameters
    ----------
    name, says
        What it is called, and when its addresses matter.
    page
        Number -> address of a page.
    variants
        Address -> its other addresses.
    fallback
        What an address shows that doesn't matter: the page (None), or the same everywhere.
    where
        Which pages it matters on: ``"anywhere"``, ``"folder"`` or ``"end"``.
    """

    name: str
    says: str
    page: Callable[[int], str]
    variants: Callable[[str], list[str]]
    fallback: str | None = None
    where: str = "anywhere"


def _with(*parameters: str) -> Callable[[str], list[str]]:
    return lambda url: [f"{url}?{each}" for each in parameters]


def _item(number: int) -> str:
    return f"/item/{WORDS[number * 3]}/"


def _in_folders(number: int) -> str:
    return f"/{'guide' if number % 10 == 3 else 'item'}/{WORDS[number * 3]}/"


KINDS = [
    Kind("forum ?page=", "long threads have more pages", _item, _with("page=2", "page=3")),
    Kind("shop ?colour=", "some colours are described", _item, _with("colour=red", "colour=blue")),
    Kind("wiki ?oldid=", "some pages were rewritten", _item, _with("oldid=17", "oldid=42")),
    Kind("texts ?lang=", "some are translated", _item, _with("lang=de", "lang=fr")),
    Kind("database ?id=", "some have more records", _item, _with("id=7", "id=8")),
    Kind("lists ?sort=", "long lists show their first lines", _item, _with("sort=up", "sort=new")),
    Kind("search ?q=", "few searches find anything", _item, _with("q=a", "q=b"), "nothing"),
    Kind("tabs ?tab=", "some products have reviews", _item, _with("tab=all", "tab=reviews")),
    Kind("archive ?year=", "few years have entries", _item, _with("year=1", "year=2"), "empty"),
    Kind("magazine ?view=", "long articles are cut", _item, _with("view=full")),
    Kind("news ?sid=", "sid is a story", _item, _with("sid=04a9", "sid=77bf")),
    Kind("landing ?utm_campaign=", "some campaigns have own pages", _item,
         _with("utm_campaign=spring", "utm_campaign=sale")),
    Kind("partners ?ref=", "some partners have own pages", _item, _with("ref=anna", "ref=bob")),
    Kind("/print/", "some printed pages hold an appendix", _item, lambda url: [f"/print{url}"]),
    Kind("/en_GB/", "some pages are another one in Britain", lambda n: f"/en{_item(n)}",
         lambda url: [url.replace("/en/", "/en_GB/")]),
    Kind("index.html", "some folders have both", _item, lambda url: [f"{url}index.html"]),
    Kind("folder ?tab=", "all pages of one folder have reviews", _in_folders,
         _with("tab=all", "tab=reviews"), where="folder"),
    Kind("end ?lang=", "the last pages are translated", _item, _with("lang=de", "lang=fr"),
         where="end"),
    Kind("end ?sid=", "sid is a story on the last pages", _item, _with("sid=04a9", "sid=77bf"),
         where="end"),
]  # fmt: skip


class Site:
    """One site of a kind."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self._seed = f"{kind.name} {seed}"
        chance = Random(self._seed)
        self.shows: dict[str, str] = {}
        """Address -> content."""
        self._links: dict[str, list[str]] = {}
        for number in range(PAGES):
            url = kind.page(number)
            matters = {
                "anywhere": chance.random() < SHARE,
                "folder": url.startswith("/guide/"),
                "end": number >= (1 - SHARE) * PAGES,
            }[kind.where]
            self.shows[url] = url
            self._links[url] = kind.variants(url)
            for other in self._links[url]:
                self.shows[other] = other if matters else kind.fallback or url
        parts = range(0, PAGES, LISTED)
        self._links["/"] = [f"/list/{part // LISTED}/" for part in parts]
        for part in parts:
            here = f"/list/{part // LISTED}/"
            self._links[here] = [kind.page(n) for n in range(part, min(part + LISTED, PAGES))]
        for here in ("/", *self._links["/"]):
            self.shows[here] = here

    def answer(self, url: str) -> tuple[int, str]:
        """Return status and HTML of an address."""
        content = self.shows.get(url)
        if content is None:
            return 404, ""
        chance = Random(f"{self._seed} {content}")
        text = " ".join(chance.choices(WORDS, k=chance.randint(60, 200)))
        links = (f'<li><a href="{escape(u)}">more</a></li>' for u in self._links.get(url, ()))
        title = " ".join(chance.choices(WORDS, k=3))
        menu = " ".join(f'<a href="/">{word}</a>' for word in WORDS[:12])
        return 200, (
            f"<!DOCTYPE html><html><head><title>{title}</title></head><body><nav>{menu}</nav>"
            f"<main><h1>{title}</h1><p>{text}</p></main><nav><ul>{''.join(links)}</ul></nav>"
            "</body></html>"
        )
