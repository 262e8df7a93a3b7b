"""Any folder of HTML pages as a website with crawl traps, and the truth about its URLs.

As in the example's site, whose calendar and soft 404s are used here, everything follows
from the URL, and the footer also from how often it was asked for: chance is drawn from
hashes, so all crawls of one seed meet the same site.
A page's links are drawn again for each kind of variant in which it is shown: variants beget
variants, as in the wild, and yet are finitely many.

===========================  ===================================================
URL                          shows
===========================  ===================================================
``/``                        links to the pages where a visit can begin
``/PATH``                    a page of the folder
``/PATH?sid=…``              the same under a session id
``/PATH?utm_source=…``       the same for a campaign
``/PATH?sort=…``             the same, lists and table rows in another order
``/print/PATH``              the same without boilerplate, in other markup
``/calendar/YEAR/MONTH/``    a month without events, and links to later months
``/PATH/help/help/…``        'not found' with status 200, and a longer such link
anything else                a true 404
===========================  ===================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urljoin, urlsplit

from lxml import html
from lxml.html import HtmlElement

from scrapy_neardup.errors import InputError
from scrapy_neardup.text import Content, Extractor, parse_html

# isort: split
import harness  # noqa: F401  (puts the example's packages on the path)

# isort: split
from docsite.site import BROKEN_PAGES, SHARES, SORT_KEYS, Chance
from docsite.site import Site as DocSite

HOME, CALENDAR, MISSING = "(home)", "(calendar)", "(not found)"
"""Pages that aren't of the folder."""
FIRST_YEAR = 2001
SENTENCE = 16
"""Words of a footer's sentence."""
_BOILERPLATE = "nav, header, footer, aside"
_FOOTER = "\ue000"
_GROWN = re.compile(r"/.+?((?:/help)+)/")
_MONTH_LINK = re.compile(r'<a href="/calendar/(\d+)/\d+/">')
_MIN_ENTRIES = 3
"""Entries that a list must have to be sorted."""


FOOTERS = ("number", "timing", "sentence")


def _trap(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class Traps:
    """The strengths; the shares of links are those of the example's site."""

    sid: float = _trap(SHARES["session id"], "share of links with a session id")
    utm: float = _trap(SHARES["campaign"], "share of links of a campaign")
    sort: float = _trap(SHARES["sort order"], "share of links to another order")
    print: float = _trap(SHARES["printable"], "share of links to a printable page")
    broken: float = _trap(BROKEN_PAGES, "share of pages with a link to a soft 404")
    growth: int = _trap(10, "soft 404s behind such a link")
    years: int = _trap(25, "years of the calendar")
    footer: str = _trap(
        "number", f"what changes on each response: some of {', '.join(FOOTERS)}, or none"
    )
    footer_tag: str = _trap("div", "the element that it stands in")
    boilerplate: str = _trap(
        "",
        "CSS selectors of the folder's own templates: known to the truth and to printable "
        "pages, never to the crawler",
    )
    seed: int = _trap(2007, "of all that is drawn")


PRESETS = {"notes": Traps(years=300, boilerplate=".navheader, .navfooter")}
"""What published figures refer to: a calendar of 300 years, and the templates of DocBook."""


class Showing(NamedTuple):
    """What a URL truly shows: which page, by which trap, its lists in which order."""

    page: str
    trap: str = ""
    order: str = ""


class TrapSite:
    """The pages of `folder` as a website.

    Parameters
    ----------
    folder
        Its ``.html``, ``.htm`` and ``.xhtml`` files are the pages; what no parser reads
        as HTML is left out.
    traps
        What is added.
    """

    def __init__(self, folder: Path, traps: Traps) -> None:
        self.traps = traps
        self.visits: Counter[str] = Counter()
        """How often each URL was asked for since the crawl began."""
        self._docs = DocSite({})
        self._extractor = Extractor(ignore=(traps.boilerplate,) if traps.boilerplate else ())
        self._footers = [kind for kind in traps.footer.split(",") if kind != "none"]
        if unknown := set(self._footers) - set(FOOTERS):
            raise SystemExit(f"--footer: {unknown.pop()!r} is not one of {', '.join(FOOTERS)}")
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.suffix in {".html", ".htm", ".xhtml"} and path.is_file()
        }
        self.contents: dict[str, Content] = {}
        """Each page's main text, without templates."""
        self.links: dict[str, list[str]] = {}
        """Page -> pages that it links to, each once."""
        for name in list(self._files):
            try:
                tree = self._tree(name, "")
            except InputError:
                del self._files[name]
                continue
            self.contents[name] = self._extractor.extract(tree)
            self.links[name] = list(dict.fromkeys(found for _, found, _ in self._anchors(tree)))
        for name, targets in self.links.items():
            self.links[name] = [target for target in targets if target in self._files]
        if clash := [n for n in self._files if n.startswith(("print/", "calendar/"))]:
            raise SystemExit(f"{folder}: {clash[0]} has an address that the traps need")

    def locate(self, url: str) -> Showing | None:
        """Return what `url` (with or without scheme and host) shows; None for a true 404."""
        parts = urlsplit(url)
        path = unquote(parts.path)
        if path == "/":
            return Showing(HOME)
        if (month := self._docs.locate(path)).kind == "month":
            year = int(month.name.split("-")[0])
            return Showing(CALENDAR, "calendar") if self._in_calendar(year) else None
        if grown := _GROWN.fullmatch(path):
            soft = grown[1].count("/") <= self.traps.growth
            return Showing(MISSING, "soft 404") if soft else None
        name = path.removeprefix("/print")[1:]
        return self._variant(name, path, parse_qs(parts.query)) if name in self._files else None

    def _variant(self, name: str, path: str, query: dict[str, list[str]]) -> Showing:
        if path != "/" + name:
            return Showing(name, "printable")
        if "sort" in query:
            return Showing(name, "sort order", query["sort"][0])
        return Showing(name, "session id" if "sid" in query else "campaign" if query else "")

    def content(self, page: str, order: str = "") -> Content:
        """Return the main text of a page, without templates, footer and what traps add."""
        if page == MISSING:
            return self._extractor.extract(parse_html(self._foreign("/x/help/")))
        if page == HOME:
            return self._extractor.extract(parse_html(self._home))
        return self._extractor.extract(self._tree(page, order)) if order else self.contents[page]

    def answer(self, here: str) -> tuple[HTTPStatus, str]:
        """Return status and HTML of the URL `here`, a path with its query."""
        self.visits[here] += 1
        showing = self.locate(here)
        if showing is None:
            return HTTPStatus.NOT_FOUND, "<p>Not found</p>"
        match showing.page:
            case p if p == HOME:
                page = self._home
            case p if p in {CALENDAR, MISSING}:
                page = self._foreign(here)
            case name:
                page = self._rendered(name, showing.trap, showing.order)
        return HTTPStatus.OK, page.replace(_FOOTER, self._footer(here))

    def link(self, target: str, source: str, trap: str = "") -> str:
        """Return the URL under which `source`, shown by a `trap`, links to the page `target`."""
        chance = Chance("link", str(self.traps.seed), source, trap, target)
        left, path = chance.share(), "/" + quote(target)
        if (left := left - self.traps.sid) < 0:
            return f"{path}?sid={chance.number(2**32, 0):08x}"
        if (left := left - self.traps.utm) < 0:
            medium = ("newsletter", "feed", "forum")[chance.number(3, 0)]
            return f"{path}?utm_source={medium}&utm_campaign=w{chance.number(4, 1)}"
        if (left := left - self.traps.sort) < 0:
            return f"{path}?sort={SORT_KEYS[chance.number(len(SORT_KEYS), 0)]}"
        return f"/print{path}" if left < self.traps.print else path

    @cached_property
    def home(self) -> list[str]:
        """The pages that ``/`` links to: each topmost index, and what nothing links to."""
        linked = {page for source, found in self.links.items() for page in found if page != source}
        indexes = [n for n in self._files if n.split("/")[-1] in {"index.html", "index.htm"}]
        top = min((name.count("/") for name in indexes), default=0)
        starts = {name for name in indexes if name.count("/") == top}
        return [name for name in self._files if name in starts or name not in linked]

    @cached_property
    def _home(self) -> str:
        items = (f'<li><a href="{self.link(name, HOME)}">{name}</a></li>' for name in self.home)
        return self._document("Pages", f"<ul>{''.join(items)}</ul>")

    def _tree(self, name: str, order: str) -> HtmlElement:
        """Return a page as it is in the folder, with absolute links, in another `order`."""
        tree = parse_html(self._files[name].read_bytes())
        for element in tree.xpath("//base|//meta[@http-equiv]"):
            element.drop_tree()
        for anchor, target, fragment in self._anchors(tree, name):
            anchor.set("href", "/" + quote(target) + fragment)
        if order:
            _sort(tree, order)
        return tree

    def _anchors(
        self, tree: HtmlElement, name: str = ""
    ) -> Iterator[tuple[HtmlElement, str, str]]:
        """Yield links, their pages and fragments; links to elsewhere lose their address."""
        for anchor in tree.iter("a", "area"):
            if (href := anchor.get("href")) is None:
                continue
            try:
                parts = urlsplit(urljoin(f"http://here/{quote(name)}", href.strip()))
            except ValueError:
                parts = urlsplit("invalid:")
            if parts.netloc != "here":
                del anchor.attrib["href"]
                continue
            path = unquote(parts.path[1:])
            if path not in self._files and f"{path.rstrip('/')}/index.html" in self._files:
                path = f"{path.rstrip('/')}/index.html"
            yield anchor, path, f"#{parts.fragment}" if parts.fragment else ""

    @lru_cache(maxsize=10_000)  # noqa: B019  (a site lives as long as the process)
    def _rendered(self, name: str, trap: str, order: str) -> str:
        """Return a page with its links drawn, and a mark where the footer goes."""
        tree = self._tree(name, order)
        for anchor, target, fragment in self._anchors(tree):
            if target in self._files:
                anchor.set("href", self.link(target, name, trap) + fragment)
        title = tree.findtext(".//title") or name
        if trap == "printable":
            for element in tree.cssselect(
                ", ".join(filter(None, (_BOILERPLATE, self.traps.boilerplate)))
            ):
                element.drop_tree()
            for element in tree.iter("div", "span", "table", "p"):
                element.attrib.clear()
                element.tag = {"div": "section", "span": "em"}.get(element.tag, element.tag)
            return self._document(title, _inner(tree))
        chance = Chance("page", str(self.traps.seed), name)
        month = f"/calendar/{FIRST_YEAR}/{chance.number(12, 0) + 1:02}/"
        extra = f'<p><a href="{month}">Events</a></p>' * bool(self.traps.years)
        if chance.share() < self.traps.broken and self.traps.growth:
            extra += f'<p><a href="/{quote(name)}/help/">Help</a></p>'
        return self._document(title, _inner(tree) + extra)

    def _foreign(self, here: str) -> str:
        """Return a month or a soft 404 of the example's site, without its own boilerplate."""
        _, _, rest = self._docs.page(here).partition("<main>")
        main, _, _ = rest.partition("</main>")
        main = _MONTH_LINK.sub(
            lambda link: link[0] if self._in_calendar(int(link[1])) else "<a>", main
        )
        if (grown := _GROWN.fullmatch(here)) and grown[1].count("/") == self.traps.growth:
            main = main.replace('<a href="help/">', "<a>")
        return self._document("Events" if grown is None else "Not found", main)

    def _in_calendar(self, year: int) -> bool:
        return FIRST_YEAR <= year < FIRST_YEAR + self.traps.years

    def _document(self, title: str, main: str) -> str:
        tag = self.traps.footer_tag
        footer = f"<{tag}>{_FOOTER}</{tag}>" if self._footers else ""
        return (
            '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>'
            f"{escape(title)}</title></head>"
            f"<body>{main}{footer}</body></html>"
        )

    def _footer(self, here: str) -> str:
        """Return what changes with each response."""
        chance = Chance("footer", str(self.traps.seed), here, str(self.visits[here]))
        texts = {
            "number": f"Visitor {chance.number(10**6, 0):,}",
            "timing": f"Page generated in {chance.number(900, 1) / 1000:.3f} s",
            "sentence": " ".join(Random(chance.number(2**32, 2)).choices(self._words, k=SENTENCE)),
        }
        return ". ".join(texts[kind] for kind in self._footers) + "."

    @cached_property
    def _words(self) -> list[str]:
        """The words of the site's own pages: those of a footer's sentence."""
        found = {w for page in self.contents.values() for w in page.text.split() if w.isalpha()}
        return sorted(found) or ["word"]


def _sort(tree: HtmlElement, order: str) -> None:
    """Bring the entries of lists, and the rows of tables, into another order."""
    for parent in tree.xpath("//ul|//ol|//tbody|//table"):
        entries = [child for child in parent if child.tag in {"li", "tr"}]
        if len(entries) >= _MIN_ENTRIES:
            texts = {entry: " ".join(entry.text_content().split()) for entry in entries}
            by_size = order.endswith("size")
            ranked = sorted(
                entries,
                key=lambda e: (len(texts[e]) if by_size else 0, texts[e]),
                reverse=order.startswith("-"),
            )
            for entry in ranked:
                parent.append(entry)


def _inner(tree: HtmlElement) -> str:
    body = tree.find(".//body")
    body = tree if body is None else body
    parts = [html.tostring(child, encoding="unicode") for child in body]
    return (body.text or "") + "".join(parts)
