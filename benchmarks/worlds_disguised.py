"""Worlds whose content stands in what looks like furniture of a page, or is no text at all.

None of these pages may be lost.
"""

from __future__ import annotations

import json

from worlds_site import World, family, slug

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


@family(place=PLACES, titles=("own", "common"))
def content_in(world: World, place: str, titles: str) -> None:
    """Pages of 60 common words whose 60 to 90 own words stand in an element that looks like
    furniture ({place}), under {titles} titles: none may be lost."""
    common, alike = world.paragraphs(60), world.title(2)
    for number in range(40):
        title = world.title() if titles == "own" else alike
        own = PLACES[place].format(f"<p>{world.prose(world.chance.randint(60, 90))}</p>")
        world.add(f"/{number}", number, f"<h1>{title}</h1>{common}{own}", title=title)


@family(titles=("own", "common"))
def menus(world: World, titles: str) -> None:
    """Restaurants: 100 common words, and 20 dishes in <ul class=menu>, under {titles} titles:
    none may be lost."""
    common = world.paragraphs(100)
    for number in range(50):
        title = " ".join(world.names(2)) if titles == "own" else "Our menu"
        dishes = "".join(f"<li>{world.title(3)}, {number % 9 + 8} €</li>" for _ in range(20))
        body = f'<h1>{title}</h1>{common}<ul class="menu">{dishes}</ul>'
        world.add(f"/restaurants/{number}", number, body, title=title)


@family()
def menus_of_branches(world: World) -> None:
    """A chain of restaurants: on the pages of four cities the same texts, so that cities are taken
    for editions, and on one of each the menu, which the same 60 words introduce: the texts must be
    found, no menu may be lost."""
    texts = [(world.title(), world.paragraphs(90)) for _ in range(24)]
    title, common = world.title(), world.prose(60)
    for city in world.names(4):
        for number, (each, text) in enumerate(texts):
            body = f"<h1>{each}</h1>{text}"
            world.add(f"/{slug(city)}/{number}", number, body, title=each, section=city)
        dishes = "".join(f"<li>{world.title(3)}</li>" for _ in range(14))
        body = f'<h1>{title}</h1><p>{common}</p><div class="menu"><ul>{dishes}</ul></div>'
        world.add(f"/{slug(city)}/menu", f"menu of {city}", body, title=title, section=city)


@family()
def table_of_class_menu(world: World) -> None:
    """Pages of 90 common words whose own words stand in a table of class menu, under one title:
    none may be lost."""
    common, title = world.paragraphs(90), world.title()
    for number in range(50):
        rows = "".join(
            f"<tr><th>{world.title(1)}</th><td>{world.title(3)}</td></tr>" for _ in range(12)
        )
        body = f'<h1>{title}</h1>{common}<table class="menu">{rows}</table>'
        world.add(f"/commands/{number}", number, body, title=title)


@family(titles=("own", "common"))
def related_topics(world: World, titles: str) -> None:
    """Subject headings: 60 common words, and related topics, the only difference, as links in
    div.related, under {titles} titles: none may be lost."""
    common, alike = world.paragraphs(60), world.title(2)
    for number in range(50):
        title = world.title(2) if titles == "own" else alike
        topics = f"<ul>{world.links(10, 2)}</ul>"
        body = (
            f'<h1>{title}</h1>{common}<div class="related"><h3>Related topics</h3>{topics}</div>'
        )
        world.add(f"/subjects/{number}", number, body, title=title)


@family(titles=("own", "common"))
def directories(world: World, titles: str) -> None:
    """Directories whose content is 40 links, below 30 common words, under {titles} titles: none
    may be lost."""
    common = world.prose(30)
    for number in range(60):
        title = world.title(2) if titles == "own" else "Directory"
        body = f"<h1>{title}</h1><p>{common}</p><ul>{world.links(40)}</ul>"
        world.add(f"/directory/{number}", number, body, title=title)


@family(common=(40, 80, 150), entries=(10, 25))
def archives(world: World, common: int, entries: int) -> None:
    """An archive on 50 pages (?page=N) with the same introduction of {common} words and {entries}
    links to other articles on each: none may be lost."""
    start = world.prose(common)
    for page in range(1, 51):
        query = f"?page={page}" if page > 1 else ""
        body = f"<h1>Archive</h1><p>{start}</p><ul>{world.links(entries, 5)}</ul>"
        world.add(f"/archive{query}", page, body, title="Archive")


@family()
def letters(world: World) -> None:
    """An index of 26 pages (?letter=B) of 30 links of one word, under one title and 50 common
    words: none may be lost."""
    start = world.prose(50)
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        links = "".join(f'<li><a href="/{w}">{letter}{w}</a></li>' for w in world.words(30))
        body = f"<h1>Index</h1><p>{start}</p><ul>{links}</ul>"
        world.add(f"/index?letter={letter}", letter, body, title="Index")


@family(titles=("own", "common"))
def shells(world: World, titles: str) -> None:
    """Application shells of 40 common words whose content is the data of a JSON script, under
    {titles} titles: none may be lost."""
    common = world.paragraphs(40)
    for number in range(60):
        title = world.title() if titles == "own" else world.host.brand
        data = {"id": number, "name": world.title(), "text": world.prose(80)}
        script = f'<script type="application/json">{json.dumps(data)}</script>'
        body = f'<div id="app">{common}</div>{script}'
        world.add(f"/app/{number}", number, body, title=title)


@family(words=(12, 60))
def states(world: World, words: int) -> None:
    """Application shells of {words} common words under one title, whose content is in a script
    that assigns window.__INITIAL_STATE__: none may be lost."""
    common = world.paragraphs(words)
    for number in range(60):
        data = json.dumps({"id": number, "text": world.prose(80)})
        script = f"<script>window.__INITIAL_STATE__ = {data};</script>"
        world.add(f"/app/{number}", number, f'<div id="app">{common}</div>{script}', title="App")


@family(words=(10, 50), titles=("own", "numbered", "common"))
def photos(world: World, words: int, titles: str) -> None:
    """Photo pages of the same {words} words, with another picture and {titles} titles: none may
    be lost."""
    common, alike = world.paragraphs(words), world.title(2)
    for number in range(60):
        title = {"own": world.title(3), "numbered": f"Photo {number}", "common": alike}[titles]
        picture = f'<img src="/photos/{world.token(8)}.jpg" width="800" height="600">'
        world.add(f"/photos/{number}", number, f"<h1>{title}</h1>{picture}{common}", title=title)


@family(attribute=("data-src", "srcset"))
def lazy_photos(world: World, attribute: str) -> None:
    """Photo pages of the same 40 words, with titles of their own and pictures that a script loads
    ({attribute}): none may be lost."""
    common = world.paragraphs(40)
    for number in range(40):
        title, blank = world.title(3), 'src="data:image/gif;base64,R0lGODlhAQABAAAAACw="'
        picture = f'<img {blank} {attribute}="/photos/{world.token(8)}.jpg">'
        world.add(f"/photos/{number}", number, f"<h1>{title}</h1>{picture}{common}", title=title)


@family()
def downloads(world: World) -> None:
    """Pages of 14 words whose only difference is a link to a file, and a title that names it: none
    may be lost."""
    common = world.prose(14)
    for name in world.names(60):
        body = f'<h1>Download</h1><p>{common}</p><a href="/files/{name}.zip">Save</a>'
        world.add(f"/download/{name}", name, body, title=f"Download {name}")


@family(tag=("iframe", "video", "object"))
def embedded(world: World, tag: str) -> None:
    """Pages of the same title and 40 words that show another document in {tag}: none may be
    lost."""
    common, title = world.paragraphs(40), world.title(2)
    attribute = "data" if tag == "object" else "src"
    for number in range(50):
        body = f'<{tag} {attribute}="/files/{world.token(8)}"></{tag}>{common}'
        world.add(f"/view/{number}", number, f"<h1>{title}</h1>{body}", title=title)
