"""Made-up sites whose parameters matter on a tenth of their pages, and where nobody could know.

A kind of site says which other addresses a page has, and whether they show something else there.
Which pages these are is drawn from a seed, or they stand together (in one folder, or at the end of
the site), which is harder. All else is the same: an index in parts leads to the pages, and each
page to its other addresses. Everything follows from the seed.
"""

from __future__ import annotations

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
    """A kind of site: its name, and when its other addresses matter."""

    name: str
    says: str
    variants: tuple[str, ...]
    """Templates of a page's other addresses."""
    fallback: str | None = None
    """What an address shows that doesn't matter: the page (None), or the same everywhere. With
    ``"below"`` one that matters shows the page, too, and a text of its own below."""
    where: str = "anywhere"
    """Which pages they matter on: ``"anywhere"``, ``"folder"`` or ``"end"``."""

    def page(self, number: int) -> str:
        """Return the address of a page."""
        folder = "guide" if self.where == "folder" and number % 10 == 3 else "item"
        language = "/en" if "en_GB" in self.name else ""
        return f"{language}/{folder}/{WORDS[number * 3]}/"


_KINDS = """
forum ?page= | long threads have more pages | {0}?page=2 {0}?page=3
shop ?colour= | some colours are described | {0}?colour=red {0}?colour=blue
wiki ?oldid= | some pages were rewritten | {0}?oldid=17 {0}?oldid=42
texts ?lang= | some are translated | {0}?lang=de {0}?lang=fr
database ?id= | some have more records | {0}?id=7 {0}?id=8
lists ?sort= | long lists show their first lines | {0}?sort=up {0}?sort=new
search ?q= | few searches find anything | {0}?q=a {0}?q=b | nothing
tabs ?tab= | some products have reviews | {0}?tab=all {0}?tab=reviews
archive ?year= | few years have entries | {0}?year=1 {0}?year=2 | empty
magazine ?view= | long articles are cut | {0}?view=full
news ?sid= | sid is a story | {0}?sid=04a9 {0}?sid=77bf
landing ?utm_campaign= | some have own pages | {0}?utm_campaign=spring {0}?utm_campaign=sale
partners ?ref= | some partners have own pages | {0}?ref=anna {0}?ref=bob
/print/ | some printed pages hold an appendix | /print{0}
/en_GB/ | some pages are another one in Britain | /en_GB{1}
index.html | some folders have both | {0}index.html
folder ?tab= | all pages of one folder have reviews | {0}?tab=all {0}?tab=reviews |  | folder
below ?tab= | some products have reviews below | {0}?tab=all {0}?tab=reviews | below
below /print/ | some printed pages end with an appendix | /print{0} | below
end ?lang= | the last pages are translated | {0}?lang=de {0}?lang=fr |  | end
end ?sid= | sid is a story on the last pages | {0}?sid=04a9 {0}?sid=77bf |  | end
"""


def _kind(row: str) -> Kind:
    name, says, variants, *rest = (cell.strip() for cell in row.split("|"))
    fallback, where = (*rest, "", "")[:2]
    return Kind(name, says, tuple(variants.split()), fallback or None, where or "anywhere")


KINDS = [_kind(row) for row in _KINDS.strip().splitlines()]


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
            below = f"{url} " if kind.fallback == "below" else ""
            instead = url if below else kind.fallback or url
            self._links[url] = [each.format(url, url[3:]) for each in kind.variants]
            for other in self._links[url]:
                self.shows[other] = below + other if matters else instead
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
        texts = []
        for part in content.split():
            chance = Random(f"{self._seed} {part}")
            texts += chance.choices(WORDS, k=chance.randint(60, 200))
        text = " ".join(texts)
        links = (f'<li><a href="{escape(u)}">more</a></li>' for u in self._links.get(url, ()))
        title = " ".join(chance.choices(WORDS, k=3))
        menu = " ".join(f'<a href="/">{word}</a>' for word in WORDS[:12])
        return 200, (
            f"<!DOCTYPE html><html><head><title>{title}</title></head><body><nav>{menu}</nav>"
            f"<main><h1>{title}</h1><p>{text}</p></main><nav><ul>{''.join(links)}</ul></nav>"
            "</body></html>"
        )
