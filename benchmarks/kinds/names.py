"""Parameters whose names say the wrong thing: each value is another page."""

from collections.abc import Callable

from kinds.site import KnownSite, kind

NAMES = "order dir ref session session_id token ts timestamp source view desc"


def board(site: KnownSite, station: str, rows: int = 20) -> str:
    """Return the departures from a station, between two notices that all stations have."""
    chance = site.chance
    lines = "".join(
        f"<tr><td>{chance.randrange(5, 24):02}:{chance.randrange(60):02}</td>"
        f"<td>{site.words(f'to {chance.randrange(60)}', 1)}</td>"
        f"<td>platform {chance.randint(1, 19)}</td></tr>"
        for _ in range(rows)
    )
    before, after = site.prose("notice", 100), site.prose("further notice", 60)
    return f"{before}<p>Trains from {station} today.</p><table>{lines}</table>{after}"


def boards(site: KnownSite, folder: str, name: str, count: int) -> list[str]:
    urls = []
    for number in range(count):
        station = site.words(f"{folder} station {number}", 2)
        url = f"{folder}?{name}={station.replace(' ', '-').lower()}"
        text = board(site, station)
        site.page(url, url, text=text, title=f"Departures from {station}")
        urls.append(url)
    return urls


@kind()
def departures(site):
    """Departure boards, `?from=NAME`, with a title and heading of their own."""
    site.index("/", boards(site, "/departures", "from", site.some(100, 50)))


@kind()
def names(site):
    """Folders of files, twelve each under `?order=`, `?session=`, `?token=`, `?ts=`, …, with one
    title and one notice."""
    folders = []
    for name in NAMES.split():
        urls = []
        for number in range(12):
            files = [site.words(f"{name} {number} {n}", 2).lower() for n in range(4)]
            urls.append(f"/list/{name}.php?{name}=photos/{2010 + number}")
            listed = "".join(
                f'<li><a href="/file/{n}">{file}.jpg</a></li>' for n, file in enumerate(files)
            )
            text = f"<ul>{listed}</ul>{site.prose('notice', 120)}"
            site.page(urls[-1], urls[-1], text=text, title="Files")
        folders.append(f"/by/{name}/")
        site.index(folders[-1], urls)
    for number in range(4):
        site.page(f"/file/{number}", f"file {number}")
    site.index("/", folders)


@kind()
def story_sids(site):
    """News under `?sid=` and 32 hexadecimal digits, all of them with one title."""
    urls = [f"/story?sid={site.chance.getrandbits(128):032x}" for _ in range(site.some(240, 120))]
    for url in urls:
        site.page(url, url, title="Story")
    site.index("/", site.indexes(urls))


@kind()
def statistics(site):
    """Tables by `?year=`: the same countries in the same order, and other numbers, but every other
    table is one for all years."""
    for_some(site, "table", site.some(120, 100), [f"year={year}" for year in (2024, 2025)], _table)


def _table(site: KnownSite, subject: int) -> str:
    rows = "".join(
        f"<tr><td>{site.words(f'country {number}', 1)}</td>"
        f"<td>{site.chance.randrange(10**6):,}</td><td>{site.chance.random() * 100:.1f}</td></tr>"
        for number in range(25)
    )
    return f"{site.prose(f'about {subject}', 20)}<table>{rows}</table>"


@kind()
def timetables(site):
    """Timetables by `?day=`: the same stops, and other times; every other line runs alike on all
    days."""
    for_some(site, "line", site.some(145, 100), ["day=sat", "day=sun"], _timetable)


def _timetable(site: KnownSite, line: int) -> str:
    rows = ""
    for number in range(14):
        times = (f"{site.chance.randrange(24)}:{site.chance.randrange(60):02}" for _ in range(6))
        cells = "".join(f"<td>{time}</td>" for time in times)
        rows += f"<tr><td>{site.words(f'line {line} stop {number}', 2)}</td>{cells}</tr>"
    return f"<table>{rows}</table>"


@kind()
def anagrams(site):
    """Poems at `?text=2`: every other one has the words of its plain page in an order that is
    another text, the others are the page itself."""
    for_some(site, "poem", site.some(120, 100), ["text=2", "text=3"], _poem)


def _poem(site: KnownSite, number: int) -> str:
    words = site.words(f"poem {number}", 120).split()
    site.chance.shuffle(words)
    return f"<p>{' '.join(words)}</p>"


def for_some(
    site: KnownSite,
    name: str,
    count: int,
    queries: list[str],
    write: Callable[[KnownSite, int], str],
) -> None:
    """Add pages whose other URLs show another text, on every other page, or the page itself."""
    urls = []
    for number in range(count):
        plain = f"/{name}/{site.words(f'{name} {number}', 2).replace(' ', '-').lower()}-{number}"
        title = site.words(f"{name} {number}", 2)
        variants = [f"{plain}?{query}" for query in queries]
        shown = write(site, number)
        site.page(plain, plain, text=shown, title=title, links=variants)
        for url in variants:
            matters = number % 2 == 1
            text = write(site, number) if matters else shown
            site.page(url, url if matters else plain, text=text, title=title)
        urls.append(plain)
    site.index("/", site.indexes(urls))


@kind()
def value_dependent(site):
    """`?tab=` shows the page itself for `overview`, `specs` and `all`, and something else for
    `reviews`."""
    urls = []
    for number in range(site.some(150, 60)):
        plain = f"/product/{site.words(f'product {number}', 2).replace(' ', '-').lower()}"
        tabs = [f"{plain}?tab={tab}" for tab in ("overview", "specs", "all", "reviews")]
        for url in (plain, *tabs[:3]):
            site.page(url, plain, links=tabs if url == plain else ())
        site.page(tabs[3], tabs[3])
        urls.append(plain)
    site.index("/", site.indexes(urls))


@kind()
def only_together(site):
    """`?a=` alone and `?b=` alone have no effect; both together are a page of their own."""
    urls = []
    for number in range(site.some(100, 50)):
        plain = f"/item/{number}/"
        alone = [f"{plain}?a=1", f"{plain}?b=1"]
        both = f"{plain}?a=1&b=1"
        for url in (plain, *alone):
            site.page(url, plain, links=(*alone, both) if url == plain else ())
        site.page(both, both)
        urls.append(plain)
    site.index("/", site.indexes(urls))


@kind()
def queries(site):
    """A search whose parameter `?q=` is all that its pages differ by, with results of their own
    for one word of eight, and one page without results for the others."""
    urls = []
    for number in range(site.some(400, 160)):
        url = f"/search?q={site.words(f'word {number}', 1).lower()}{number}"
        site.page(url, url if number % 8 == 5 else "no results")
        urls.append(url)
    site.index("/", site.indexes(urls))
