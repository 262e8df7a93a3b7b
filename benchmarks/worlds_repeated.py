"""Worlds whose pages repeat each other: mirrors, editions, printable versions, traps."""

from __future__ import annotations

from calendar import month_name, monthrange
from collections.abc import Iterable
from html import escape

from worlds_changing import moment, seconds
from worlds_site import World, family, slug


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
            ending = f"<p>Page generated in {seconds(world)} seconds</p>"
            body = f"<h1>{title}</h1>{text}{ending}"
            world.add(path + query, path, body, title=title, section="timed")
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
        world.shuffle()


def ending_in_content(world: World, path: str, title: str, common: str, own: int) -> None:
    """Add a page whose last paragraph, of `own` words, is what it says."""
    start = f"<p>{common}</p>" if common else ""
    body = f"<h1>{title}</h1>{start}<p>{world.prose(own)}</p>"
    world.add(path, path, body, title=title, section=path[:3])


@family()
def campaigns(world: World) -> None:
    """Pages of 20 to 300 words under two parameters that change nothing: all but the first of
    each must be found."""
    for number in range(50):
        title, text = world.title(), world.paragraphs(world.chance.randint(20, 300))
        for query in ("", "?utm_source=feed", "?utm_source=mail&utm_campaign=w7"):
            world.add(f"/{number}{query}", number, f"<h1>{title}</h1>{text}", title=title)


@family()
def printable(world: World) -> None:
    """Articles of 60 to 400 words in a template of elements that no name tells from content, and
    as printable versions without it: all of these must be found."""
    world.host.style = "table"
    paper = world.new_host("plain")
    paper.name = world.host.name
    for number in range(60):
        title, text = world.title(), world.paragraphs(world.chance.randint(60, 400))
        world.add(f"/articles/{number}", number, f"<h1>{title}</h1>{text}", title=title)
        world.add(f"/print/{number}", number, f"<h2>{title}</h2>{text}", title=title, host=paper)


@family(words=(60, 250))
def mirror(world: World, words: int) -> None:
    """Articles of {words} words on one host, and on another in its template: the second copies
    must be found."""
    other = world.new_host()
    for number in range(60):
        title, text = world.title(), world.paragraphs(words)
        body = f"<h1>{title}</h1>{text}"
        world.add(f"/{number}", number, body, title=title)
        world.add(f"/mirror/{number}", number, body, title=title, host=other, section="mirror")


@family(words=(60, 400))
def syndicated(world: World, words: int) -> None:
    """News of {words} words on the hosts of four papers, each in its template and with a line of
    its own on top: one copy of each must be delivered, all others be found."""
    papers = [world.host, *(world.new_host() for _ in range(3))]
    for number in range(40):
        title, text = world.title(), world.paragraphs(words)
        for paper in world.chance.sample(papers, 3):
            line = f"<p>{paper.brand}, {moment(world)}</p>"
            body = f"<h1>{title}</h1>{line}{text}"
            world.add(f"/{slug(title)}", number, body, title=title, host=paper)


@family()
def soft_errors(world: World) -> None:
    """Articles, and paths that do not exist and are answered with 'not found', status 200 and the
    path: all but the first of these must be found, no article may be lost."""
    missing = f"<p>{world.prose(25)}</p>"
    for number in range(40):
        title = world.title()
        body = f"<h1>{title}</h1>{world.paragraphs(150)}"
        world.add(f"/articles/{number}", number, body, title=title)
    for _ in range(60):
        path = "/".join(["", *map(slug, world.names(world.chance.randint(1, 4)))])
        body = f"<h1>Not found</h1><p>There is no page {path} on this server.</p>{missing}"
        world.add(path, "missing", body, title=f"Not found: {path}", section="missing")


@family()
def calendar(world: World) -> None:
    """Events, a calendar in which 8 months have them, and twelve years of months without: no
    event and no month that has one may be lost; empty months repeat each other."""
    events = {}
    for number in range(24):
        title = world.title()
        day = (2024, world.chance.randint(1, 8), world.chance.randint(1, 28))
        events.setdefault(day, []).append((title, f"/events/{number}"))
        body = f"<h1>{title}</h1>{world.paragraphs(70)}"
        world.add(f"/events/{number}", title, body, title=title)
    busy = {(year, month) for year, month, _ in events}
    for year in range(2024, 2036):
        for month in range(1, 13):
            days = []
            for day in range(1, monthrange(year, month)[1] + 1):
                here = events.get((year, month, day), ())
                links = " ".join(f'<a href="{path}">{title}</a>' for title, path in here)
                days.append(f"{day} {links}")
            name = f"{month_name[month]} {year}"
            content = name if (year, month) in busy else "empty"
            body = f"<h1>{name}</h1>{weeks(days)}"
            path = f"/calendar/{year}/{month}/"
            world.add(path, content, body, title=f"Events in {name}", section="calendar")


def weeks(days: Iterable[object]) -> str:
    """Return the days of a month as an HTML table, seven a row."""
    cells = [f"<td>{day}</td>" for day in days]
    rows = (f"<tr>{''.join(cells[at : at + 7])}</tr>" for at in range(0, len(cells), 7))
    return f"<table>{''.join(rows)}</table>"


@family()
def saying_on_traps(world: World) -> None:
    """Articles under two session ids, half of them before and half after soft 404s and empty
    months of some 30 words; on each response all end in another saying of 16 words: repetitions
    must be found."""
    missing = f"<p>{world.prose(25)}</p>"

    def add(path: str, content: object, title: str, body: str, section: str) -> None:
        body = f"<h1>{title}</h1>{body}<div>{world.prose(16)}</div>"
        world.add(path, content, body, title=title, section=section)

    def articles() -> None:
        texts = [(world.title(), world.paragraphs(150)) for _ in range(40)]
        for query in world.sessions(2):
            for title, text in texts:
                path = f"/articles/{slug(title)}"
                add(path + query, path, title, text, "articles")

    articles()
    for _ in range(60):
        add(f"/{slug(world.title(3))}/help/", "missing", "Not found", missing, "missing")
    for year in range(2024, 2036):
        for month in range(1, 13):
            name = f"{month_name[month]} {year}"
            days = (
                "Mo",
                "Tu",
                "We",
                "Th",
                "Fr",
                "Sa",
                "Su",
                *range(1, monthrange(year, month)[1] + 1),
            )
            body = f"{weeks(days)}<p>There are no events in {name}.</p>"
            add(f"/calendar/{year}/{month}/", f"empty {month}", name, body, "calendar")
    articles()


@family(words=(3, 12))
def sorted_rows(world: World, words: int) -> None:
    """Lists of 30 entries of {words} words, each under three orders that a parameter names: all
    but the first of each must be found."""
    for number in range(40):
        title = world.title()
        rows = [world.title(words) for _ in range(30)]
        orders = {"": rows, "?sort=name": sorted(rows), "?sort=-name": sorted(rows, reverse=True)}
        for query, order in orders.items():
            items = "".join(f"<tr><td>{each}</td></tr>" for each in order)
            body = f"<h1>{title}</h1><table>{items}</table>"
            world.add(f"/lists/{number}{query}", number, body, title=title)


@family(words=(14, 120), version=("number", "word"))
def editions(world: World, words: int, version: str) -> None:
    """A manual of pages of {words} words in two editions, /v14/ and /v15/, of which most have
    the same text under a title that names the edition ({version}): equal text must be found,
    what was rewritten must not be lost."""
    labels = ("14", "15") if version == "number" else ("stable", "unstable")
    name = world.names(1)[0]
    for number in range(80):
        title = world.title(2)
        body = f"<h1>{title}</h1><p>{world.prose(words)}</p>"
        for folder, label in zip(("v14", "v15"), labels, strict=True):
            content = str(number)
            if folder == "v15" and number % 4 == 0:
                body, content = f"<h1>{title}</h1><p>{world.prose(words)}</p>", f"{number} new"
            world.add(
                f"/{folder}/page{number}.html", content, body,
                title=f"{title} — {name} {label} documentation", section=folder,
            )  # fmt: skip


@family(words=(30, 150))
def half_translated(world: World, words: int) -> None:
    """A manual of pages of {words} words in two languages, of which half are not yet translated:
    the same content beside navigation in another language. These must be found, no translated
    page may be lost."""
    for number in range(60):
        title, text = world.title(), f"<p>{world.prose(words)}</p>"
        for language in ("en", "de"):
            content = str(number)
            if language == "de" and number % 2:
                title, text, content = world.title(), f"<p>{world.prose(words)}</p>", f"{number}/2"
            navigation = "".join(f"<li><a>{world.title(3)}</a></li>" for _ in range(6))
            body = (
                f'<div class="docnav"><ul>{navigation}</ul></div><h1>{title}</h1>{text}'
                f'<div class="docnav">{world.title(4)}</div>'
            )
            world.add(
                f"/{language}/{number}.html", content, body, title=title, section=language,
                language=language,
            )  # fmt: skip


@family(words=(60, 150))
def much_navigation(world: World, words: int) -> None:
    """A manual of pages of {words} words beside 2,000 words of links, others in each of its two
    editions and in part on each page: second editions must be found, no page may be lost."""
    pages = [(world.title(), f"<p>{world.prose(words)}</p>") for _ in range(40)]
    for edition in ("2.22", "2.24"):
        entries = [f'<li><a href="/{n}">{world.title(5)}</a></li>' for n in range(600)]
        for number, (title, text) in enumerate(pages):
            shown = "".join(world.chance.sample(entries, 400))
            body = f"<div><ul>{shown}</ul></div><h1>{title}</h1>{text}"
            world.add(f"/{edition}/{number}.html", number, body, title=title, section=edition)


@family()
def breadcrumbs(world: World) -> None:
    """Products of 80 words of their own, each in three categories that the path and a line above
    name: all but the first of each must be found."""
    categories = [world.title(2) for _ in range(12)]
    for number in range(50):
        title, text = world.title(3), world.paragraphs(80)
        for category in world.chance.sample(categories, 3):
            line = f"<p>Home &gt; {category} &gt; {title}</p>"
            path = f"/{slug(category)}/{number}"
            world.add(path, number, f"{line}<h1>{title}</h1>{text}", title=title)


@family()
def login_walls(world: World) -> None:
    """Public articles, and 60 addresses that all answer with the same request to log in, in which
    a hidden field and a link name the address: all but the first must be found."""
    text = world.prose(45)
    for number in range(30):
        title = world.title()
        body = f"<h1>{title}</h1>{world.paragraphs(120)}"
        world.add(f"/public/{number}", number, body, title=title)
    for number in range(60):
        path = f"/members/{number}"
        body = (
            f'<h1>Log in</h1><p>{text}</p><form><input type="hidden" name="next" value="{path}">'
            f'<input name="user"></form><a href="/join?next={path}">Join</a>'
        )
        world.add(path, "log in", body, title="Log in", section="members")


@family()
def highlighted_comments(world: World) -> None:
    """Threads of 12 comments, each also under the addresses of three comments, which are marked
    there: all but the first of each must be found."""
    for number in range(30):
        title = world.title()
        comments = [world.prose(world.chance.randint(10, 40)) for _ in range(12)]
        for marked in (None, 3, 7, 11):
            items = "".join(
                f'<li class="marked">{each}</li>' if at == marked else f"<li>{each}</li>"
                for at, each in enumerate(comments)
            )
            path = f"/thread/{number}" + (f"?comment={marked}" if marked else "")
            world.add(path, number, f"<h1>{title}</h1><ol>{items}</ol>", title=title)


@family()
def regions(world: World) -> None:
    """Pages of 200 words for three regions of one language, which differ in the currency and two
    spellings: all but the first of each must be found."""
    spellings = world.names(40)
    for number in range(40):
        title, words = world.title(), world.prose(200).split(" ")
        places = world.chance.sample(range(20, 190), 2)
        for region, currency in (("us", "$"), ("gb", "£"), ("au", "A$")):
            for place in places:
                words[place] = world.chance.choice(spellings)
            body = f"<h1>{title}</h1><p>{' '.join(words)}</p><p>From {currency} 19.</p>"
            world.add(f"/{region}/{number}", number, body, title=title, section=region)


@family()
def parked(world: World) -> None:
    """40 hosts without a site, all with the same notice of 60 words that names the host: all but
    the first must be found."""
    notice = world.prose(60)
    for _ in range(40):
        host = world.new_host("plain")
        body = f"<h1>{host.name}</h1><p>The domain {host.name} may be for sale.</p><p>{notice}</p>"
        world.add("/", "parked", body, host=host)


@family()
def path_cycles(world: World) -> None:
    """Articles of 150 words that answer under paths that grow by wrong links (/docs/docs/3), with
    a line that shows the path: all but the first of each must be found."""
    for number in range(40):
        title, text = world.title(), world.paragraphs(150)
        for depth in range(1, 5):
            path = f"{'/docs' * depth}/{number}"
            line = f"<p>Home{' &gt; docs' * depth} &gt; {title}</p>"
            body = f"{line}<h1>{title}</h1>{text}"
            world.add(path, number, body, title=title, section=str(depth))


@family()
def past_the_end(world: World) -> None:
    """An archive of 20 pages (?page=N) of 30 common words and ten links, and 60 pages past its
    end that say so: these must be found, no other may be lost."""
    start = world.prose(30)
    for page in range(1, 81):
        entries = world.links(10, 5) if page <= 20 else "<li>There are no more entries.</li>"
        body = f"<h1>Archive</h1><p>{start}</p><ul>{entries}</ul>"
        content = page if page <= 20 else "end"
        world.add(f"/archive?page={page}", content, body, title="Archive")


@family()
def corrections(world: World) -> None:
    """Articles of 400 words, and the same under other addresses with two words corrected: these
    must be found."""
    for number in range(60):
        title, words = world.title(), world.prose(400).split(" ")
        for version in ("", "/archive"):
            body = f"<h1>{title}</h1><p>{escape(' '.join(words))}</p>"
            world.add(f"{version}/{number}", number, body, title=title, section=version)
            for at in world.chance.sample(range(400), 2):
                words[at] = world.names(1)[0]
