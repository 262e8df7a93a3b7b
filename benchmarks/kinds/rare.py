"""Parameters and paths that matter on some pages only, early, late, or in one folder.

Each line of `_TABLE` is a kind: its name, the templates of a page's other URLs ({0} is the page's
path, {1} the path without its language), the pages on which they matter, and what is shown
otherwise: the page itself, or one text everywhere. With ``below`` a page's text comes first, and
something of its own after it.
"""

from functools import partial

from kinds.site import ALWAYS, KINDS, UNLESS_SKIPPING, KnownSite, SiteKind

_TABLE = """
page            | {0}?page=2 {0}?page=3                             | 1/10
colour          | {0}?colour=red {0}?colour=blue                    | 1/10
oldid           | {0}?oldid=17 {0}?oldid=42                         | 1/10
lang            | {0}?lang=de {0}?lang=fr                           | 1/10
id              | {0}?id=7 {0}?id=8                                 | 1/10
sort-cut        | {0}?sort=up {0}?sort=new                          | 1/10
search          | {0}?q=a {0}?q=b                                   | 1/10  | nothing
archive         | {0}?year=1 {0}?year=2                             | 1/10  | empty
view-full       | {0}?view=full                                     | 1/10
sid             | {0}?sid=04a9 {0}?sid=77bf                         | 1/10
campaign        | {0}?utm_campaign=spring {0}?utm_campaign=sale     | 1/10
partners        | {0}?ref=anna {0}?ref=bob                          | 1/10
print           | /print{0}                                         | 1/10
country         | /en_GB{1}                                         | 1/10
index-html      | {0}index.html                                     | 1/10
tab-folder      | {0}?tab=all {0}?tab=reviews                       | folder
tab-below       | {0}?tab=all {0}?tab=reviews                       | 1/10  | below
print-below     | /print{0}                                         | 1/10  | below
lang-late       | {0}?lang=de {0}?lang=fr                           | last
sid-late        | {0}?sid=04a9 {0}?sid=77bf                         | last
lang-early      | {0}?lang=de {0}?lang=fr                           | first
middle          | {0}?v=1 {0}?v=2                                   | middle
all-matter      | {0}?v=1 {0}?v=2                                   | 1/1
half-matter     | {0}?v=1 {0}?v=2                                   | 1/2
hundredth       | {0}?v=1                                           | 1/100
"""

HUNDREDTH = "1/100"


def fill(site: KnownSite, variants: list[str], where: str, fallback: str) -> None:
    count = site.some(600, 150) if where == HUNDREDTH else site.some(240, 72)
    language = "/en" if any("{1}" in variant for variant in variants) else ""
    urls = []
    for number in range(count):
        folder = "guide" if where == "folder" and number % 10 == 3 else "item"
        name = site.words(f"name {number}", 2).replace(" ", "-").lower()
        url = f"{language}/{folder}/{name}-{number}/"
        if "/" in where:
            matters = number % int(where.partition("/")[2]) == int(where.partition("/")[2]) // 2
        else:
            matters = {
                "folder": folder == "guide",
                "last": number >= 0.9 * count,
                "first": number < 0.1 * count,
                "middle": 0.4 * count <= number < 0.6 * count,
            }[where]
        others = [variant.format(url, url[3:]) for variant in variants]
        site.page(url, url, links=others)
        for other in others:
            title, text = "", None
            if matters and fallback == "below":
                title, text = site.words(url, 3), site.prose(url) + site.prose(other)
            content = other if matters else url if fallback in {"", "below"} else fallback
            site.page(other, content, title=title, text=text)
        urls.append(url)
    site.index("/", site.indexes(urls))


def _row(line: str) -> SiteKind:
    name, variants, where, *rest = (cell.strip() for cell in line.split("|"))
    fallback = rest[0] if rest else ""
    shown = {"": "the page itself", "below": "the page, and more below"}.get(fallback, fallback)
    says = f"{variants.replace('{0}', 'X').replace('{1}', 'X')} matter on {where} of the pages"
    says += f"; otherwise they show {shown}" if fallback != "below" else f": {shown}"
    work = partial(fill, variants=variants.split(), where=where, fallback=fallback)
    return SiteKind(
        f"rare-{name}", says, work, must_keep_all=UNLESS_SKIPPING if where == HUNDREDTH else ALWAYS
    )


KINDS.update({made.name: made for made in map(_row, _TABLE.strip().splitlines())})
