"""The families of worlds: those of ``families.txt``, and those that take more than a list says."""

import json
from calendar import month_name, monthrange
from collections.abc import Callable, Iterable
from functools import partial
from inspect import getdoc
from itertools import permutations, product
from pathlib import Path
from typing import Any

from made import kinds
from made.world import FAMILIES, Family, World, slug

OWN_OR_COMMON = ("own", "common")
"""Whether each page has a title of its own."""

ADVERTS = {
    "named": '<div class="ad advertisement">{}</div>',
    "ins": '<ins class="adsbygoogle">{}</ins>',
    "plain": "<div>{}</div>",
}
RELATED = {"named": '<div class="related"><ul>{}</ul></div>', "plain": "<ul>{}</ul>"}
PICTURES = {
    "header": '<div class="hero"><img src="/header/{}.jpg" alt=""></div>',
    "advert": '<a href="/go"><img src="https://ads.example/{}.gif" width="468" height="60"></a>',
    "pixel": '<img src="/count.gif?{}" width="1" height="1">',
}
SCRIPTS = {
    "json": '<script type="application/json">{}</script>',
    "state": "<script>window.__INITIAL_STATE__ = {};</script>",
}
PLACES = {
    "sidebar": '<div class="sidebar">{}</div>',
    "aside": "<aside>{}</aside>",
    "ad": '<div class="ad">{}</div>',
    "promo": '<section class="promo">{}</section>',
    "banner": '<div id="banner">{}</div>',
    "footer": '<div class="card"><p>About</p><div class="footer">{}</div></div>',
    "header": '<header class="header">{}</header>',
    "toc": '<div class="toc">{}</div>',
    "ins": "<ins>{}</ins>",
    "widget": '<div class="widget social">{}</div>',
}
"""Elements that look like boilerplate."""

COMMON = (60, 100, 200, 400)


def middle(article: str, part: str) -> str:
    head, *paragraphs = article.split("<p>")
    if len(paragraphs) == 1:
        words = paragraphs[0].removesuffix("</p>").split(" ")
        half = len(words) // 2
        return f"{head}<p>{' '.join(words[:half])}</p>{part}<p>{' '.join(words[half:])}</p>"
    half = len(paragraphs) // 2
    before = "".join(f"<p>{each}" for each in paragraphs[:half])
    return f"{head}{before}{part}" + "".join(f"<p>{each}" for each in paragraphs[half:])


def _weeks(days: Iterable[object]) -> str:
    """Return the days of a month as an HTML table, seven a row."""
    cells = [f"<td>{day}</td>" for day in days]
    rows = (f"<tr>{''.join(cells[at : at + 7])}</tr>" for at in range(0, len(cells), 7))
    return f"<table>{''.join(rows)}</table>"


_WORDS: kinds.Words = {
    "ADVERTS": ADVERTS, "COMMON": COMMON, "OWN_OR_COMMON": OWN_OR_COMMON, "PICTURES": PICTURES,
    "PLACES": PLACES, "RELATED": RELATED, "SCRIPTS": SCRIPTS, "json": json, "middle": middle,
    "month_name": month_name, "monthrange": monthrange, "permutations": permutations,
    "product": product, "slug": slug, "weeks": _weeks,
}  # fmt: skip
"""What the list names besides the words of a world."""


_ENDINGS = {"!": ": none may be lost.", "*": ": all but the first of each must be found."}
"""By the last character of a description in the list: what is said of its pages."""


def _listed(world: World, block: kinds.Block, chosen: kinds.Words) -> None:
    own = {name: getattr(world, name) for name in dir(world) if name[0] != "_"}
    own |= {"heading": world.title, "some_words": world.words, "home": world.host}
    for page in block.pages(_WORDS | own | chosen):
        world.add(page.pop("path"), page.pop("content", None), page.pop("body"), **page)


def _register(name: str, says: str, fill: Callable[[World], None], *, alone: bool = False) -> None:
    assert says, f"{name} has no description"
    assert name not in FAMILIES, f"{name} is there twice"
    FAMILIES[name] = Family(name, says, fill, alone)


for _block in kinds.read(Path(__file__).with_name("families.txt"), _WORDS):
    _alone = _block.options.get("numbers_alone", False)
    for _name, _says, _chosen in _block.variants(("numbers_alone",)):
        _says = _says[:-1] + _ENDINGS.get(_says[-1], _says[-1])
        _fill = partial(_listed, block=_block, chosen=_chosen)
        _register(_name, _says, _fill, alone=_alone)


def family(**options: Iterable[object]) -> Callable[[Callable[..., None]], None]:
    """Register a function of a world as a family, or as one family a combination of `options`.

    The docstring may name options in braces; their values are parts of the family's name.
    """

    def register(function: Callable[..., None]) -> None:
        for values in product(*options.values()):
            chosen: dict[str, Any] = dict(zip(options, values, strict=True))
            name = "-".join([function.__name__, *map(str, values)]).replace("_", "-")
            says = " ".join((getdoc(function) or "").format(**chosen).split())
            _register(name, says, partial(function, **chosen))

    return register


@family(when=("first", "last", "mixed"))
def timed_pages(world: World, when: str) -> None:
    """30 pages that end in 'Page generated in 0.1234 seconds', each also as ?sort=asc, and three
    sections of 40 pages whose last paragraph is their content; the 30 come {when}. Their
    repetitions must be found, none of the 150 pages may be lost."""
    world.host.style = "plain"
    for number in range(30):
        title, text = world.title(), world.paragraphs(120)
        for query in ("", "?sort=asc"):
            path = f"/list/{number}"
            body, again = (
                f"<h1>{title}</h1>{text}<p>Page generated in {world.seconds()} seconds</p>"
                for _ in range(2)
            )
            world.add(path + query, path, body, title=title, section="timed", again=again)
    timed, world.pages = world.pages, []
    alike, common = world.title(), [world.prose(60) for _ in range(2)]
    for number in range(40):
        ending_in_content(world, f"/a/{number}", alike, "", 150)
    for number in range(40):
        own = world.chance.randint(70, 150)
        ending_in_content(world, f"/b/{number}", alike, common[0], own)
    for number in range(40):
        ending_in_content(world, f"/c/{number}", world.title(), common[1], 80)
    world.pages = world.pages + timed if when == "last" else timed + world.pages
    if when == "mixed":
        world.chance.shuffle(world.pages)


def ending_in_content(world: World, path: str, title: str, common: str, own: int) -> None:
    start = f"<p>{common}</p>" if common else ""
    body = f"<h1>{title}</h1>{start}<p>{world.prose(own)}</p>"
    world.add(path, path, body, title=title, section=path[:3])


@family(first=("changes", "content"))
def one_host(world: World, first: str) -> None:
    """One host with sections of other families, those in which something changes on each
    response before or after the others ({first} first): repetitions must be found, no page may be
    lost."""
    changing = {
        "news": "advert-plain", "blog": "timing-100", "wiki": "related-links-plain",
        "dates": "calendar", "docs": "editions-120-number",
    }  # fmt: skip
    content = {
        "shop": "products-untitled-60-20", "goods": "products-by-name-200-3",
        "script": "one-script-20-number", "tags": "archives-80-10",
        "people": "content-in-sidebar-own", "food": "menus-common", "pictures": "photos-10-own",
        "app": "shells-own", "career": "jobs-own", "things": "variants-40",
        "said": "reviews-common",
    }  # fmt: skip
    for folder, name in (changing | content if first == "changes" else content | changing).items():
        world.part(folder, name)


@family(first=("changes", "content"), folder=("shop", "articles"))
def same_place(world: World, first: str, folder: str) -> None:
    """Articles, each under two sessions, end in a sentence that changes, and pages of /{folder}/
    in the only line of their own, in the same tags and classes, {first} first: repetitions must be
    found, no page may be lost."""
    last = '<p class="last">{}</p>'

    def changes() -> None:
        articles = [(world.title(), world.paragraphs(150)) for _ in range(40)]
        for query in world.sessions(2):
            for number, (title, text) in enumerate(articles):
                path = f"/articles/{number}"
                body, again = (
                    f"<h1>{title}</h1>{text}"
                    + last.format(f"{world.prose(12)} Made in {world.seconds()} s")
                    for _ in range(2)
                )
                world.add(path + query, path, body, title=title, section="articles", again=again)

    def content() -> None:
        terms = world.paragraphs(90)
        for number in range(40):
            path, own = f"/{folder}/{number + 100}", last.format(world.prose(16))
            body = f"<h1>Shop</h1>{terms}{own}"
            world.add(path, path, body, title="Shop", section="shop")

    for add in (changes, content) if first == "changes" else (content, changes):
        add()
