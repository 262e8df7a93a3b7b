"""The site: which URL shows what, and how its pages link to each other.

Everything follows from the URL. Chance is drawn from a hash of the
page's own URL and the link's target, so that two crawls meet the same site. `Site.locate`
is the truth about a URL: the server and the report use it, the crawler never sees it.

==============================  ================================================
URL                             shows
==============================  ================================================
``/``                           the index of modules
``/module/NAME/``               a module
``/module/NAME/?sid=…``         the same under a session id (10 % of links)
``/module/NAME/?utm_source=…``  the same for a campaign (7 %)
``/module/NAME/?sort=…``        the same, its entries in another order (6 %)
``/print/NAME/``                the same for printing, without navigation (7 %)
``/calendar/YEAR/MONTH/``       a month without events, and links to later months
anything else                   'not found', with status 200 and a relative link
                                that makes the path grow
==============================  ================================================
"""

from __future__ import annotations

import calendar
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from docsite.dump import ENTRY
from docsite.library import Library, Module

SHARES = {"session id": 0.10, "campaign": 0.07, "sort order": 0.06, "printable": 0.07}
"""The share of links that lead to a variant of a page instead of the page."""
BROKEN_PAGES = 0.05
"""The share of module pages with a relative link that leads nowhere."""

SORT_KEYS = ("-name", "size", "-size")
_LINK = re.compile(r'<a href="([\w.]+)\.html(#[^"]*)?"')
_MODULE = re.compile(r"/(module|print)/([\w.]+)/")
_MONTH = re.compile(r"/calendar/(\d{4,})/(0[1-9]|1[0-2])/")

Kind = Literal["index", "module", "month", "missing"]


@dataclass(frozen=True, slots=True)
class Showing:
    """What a URL truly shows: the page (kind and name), and in which variant."""

    kind: Kind
    name: str = ""
    variant: str = ""

    @property
    def page(self) -> tuple[Kind, str]:
        """Its page: two URLs with the same page are duplicates."""
        return self.kind, self.name


class Chance:
    """Numbers drawn from the hash of what they are drawn for."""

    def __init__(self, *purpose: str) -> None:
        self._bits = blake2b("\0".join(purpose).encode()).digest()

    def share(self) -> float:
        """Return a number in [0, 1)."""
        return int.from_bytes(self._bits[:6], "big") / 2**48

    def number(self, bound: int, which: int) -> int:
        """Return a number below `bound`, independent for each `which` in 0 to 13."""
        start = 6 + 4 * which
        return int.from_bytes(self._bits[start : start + 4], "big") % bound


class Site:
    """The documentation of `library` as a website."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._names = list(library)
        self._place = {name: place for place, name in enumerate(self._names)}

    def locate(self, url: str) -> Showing:
        """Return what `url` (with or without scheme and host) truly shows."""
        parts = urlsplit(url)
        if parts.path == "/":
            return Showing("index")
        if month := _MONTH.fullmatch(parts.path):
            return Showing("month", "-".join(month.groups()))
        module = _MODULE.fullmatch(parts.path)
        if module is None or module[2] not in self.library:
            return Showing("missing", variant="soft 404")
        query = parse_qs(parts.query)
        variant = (
            "printable" if module[1] == "print"
            else "session id" if "sid" in query
            else "campaign" if "utm_source" in query
            else "sort order" if "sort" in query
            else ""
        )  # fmt: skip
        return Showing("module", module[2], variant)

    def link(self, name: str, here: str) -> str:
        """Return the URL under which the page at `here` links to the module `name`."""
        chance = Chance("link", here, name)
        left = chance.share()
        for variant, share in SHARES.items():
            left -= share
            if left < 0:
                return _variant(name, variant, chance)
        return f"/module/{name}/"

    def page(self, here: str, visit: int = 0) -> str:
        """Return the HTML of the page at `here`, a path with its query, at some visit of many."""
        return self._page(here).replace(_FOOTER, _footer(here, visit))

    def _page(self, here: str) -> str:
        showing = self.locate(here)
        match showing.kind:
            case "index":
                return _document("Python modules", _nav(), self._index(here))
            case "month":
                return _document(f"Events in {showing.name}", _nav(), _month(showing.name))
            case "missing":
                return _document("Not found", _nav(), _MISSING)
        module = self.library[showing.name]
        main = self._main(module, parse_qs(urlsplit(here).query).get("sort", ["name"])[0], here)
        if showing.variant == "printable":
            source = f"<p>Printed from {module.name}, with thanks to all who wrote it.</p>\n"
            return _document(module.name, "", source + main)
        broken = Chance("broken", module.name).share() < BROKEN_PAGES
        return _document(module.name, self._module_nav(module, here), main + _HELP * broken)

    def _index(self, here: str) -> str:
        rows = (
            f'<li><a href="{self.link(name, here)}">{name}</a> {html.escape(module.summary)}</li>'
            for name, module in self.library.items()
            if name.rpartition(".")[0] not in self.library
        )
        return "<h1>Python modules</h1>\n<ul>\n" + "\n".join(rows) + "\n</ul>"

    def _main(self, module: Module, order: str, here: str) -> str:
        text = "".join((module.intro, *(_sorted(section, order) for section in module.sections)))

        def relink(link: re.Match[str]) -> str:
            name, fragment = link[1], link[2] or "#"
            if name == module.name:
                return f'<a href="{fragment}"'
            return f'<a href="{self.link(name, here)}"' if name in self.library else "<a"

        return _LINK.sub(relink, text)

    def _module_nav(self, module: Module, here: str) -> str:
        place = self._place[module.name]
        around = (self._names[place - 1], self._names[(place + 1) % len(self._names)])
        package = module.name.rpartition(".")[0]
        names = (*((package,) if package in self.library else ()), *around)
        return _nav(f'<a href="{self.link(name, here)}">{name}</a>' for name in names)


def _variant(name: str, variant: str, chance: Chance) -> str:
    match variant:
        case "session id":
            return f"/module/{name}/?sid={chance.number(2**32, 0):08x}"
        case "campaign":
            source = ("newsletter", "feed", "forum")[chance.number(3, 0)]
            return f"/module/{name}/?utm_source={source}&amp;utm_campaign=w{chance.number(4, 1)}"
        case "sort order":
            return f"/module/{name}/?sort={SORT_KEYS[chance.number(len(SORT_KEYS), 0)]}"
    return f"/print/{name}/"


def _sorted(section: str, order: str) -> str:
    """Return `section` with its entries, which are sorted by name, in another `order`."""
    pieces = ENTRY.split(section)
    entries = pieces[1::2]
    if order in {"size", "-size"}:
        entries.sort(key=len)
    if order in {"-name", "-size"}:
        entries.reverse()
    pieces[1::2] = entries
    return "".join(pieces)


def _month(name: str) -> str:
    year, month = map(int, name.split("-"))
    title = f"{calendar.month_name[month]} {year}"
    weeks = calendar.Calendar().monthdayscalendar(year, month)
    rows = ("".join(f"<td>{day or ''}</td>" for day in week) for week in weeks)
    table = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"""<h1>{title}</h1>
<table>
{table}
</table>
<p>There are no events in {title}.</p>
<p><a href="/calendar/{year + month // 12:04}/{month % 12 + 1:02}/">Next month</a>
<a href="/calendar/{year + 1:04}/{month:02}/">Next year</a></p>"""


_HELP = '\n<p>Something missing? <a href="help/">Ask for help</a></p>'
_MISSING = f"""<h1>Not found</h1>
<p>Sorry, the page that you are looking for has moved, or it never was here. Try the index of
modules, or go back to the page that you came from and tell its author about the broken link.
</p>{_HELP}"""


def _nav(links: Iterator[str] | tuple[str, ...] = ()) -> str:
    common = ('<a href="/">Index</a>', '<a href="/calendar/2001/01/">Events</a>')
    return "<nav>" + " | ".join((*common, *links)) + "</nav>\n"


_FOOTER = "<footer></footer>"


def _footer(here: str, visit: int) -> str:
    chance = Chance("footer", here, *[str(visit)] * bool(visit))
    visitor, node, ms, online = (
        chance.number(most, which) for which, most in enumerate((10**6, 16, 90, 500))
    )
    return f"""<footer>Visitor {visitor:,}, served by node {node} in
{ms + 5} ms; {online} readers are online.</footer>"""


def _document(title: str, nav: str, main: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{html.escape(title)}</title></head>
<body>
{nav}<main>
{main}
</main>
{_FOOTER}
</body>
</html>
"""
