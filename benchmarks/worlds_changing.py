"""Worlds of which a part changes with each response, whatever the page: adverts, clocks, counters.

Each page is fetched under several session ids. Its other fetches must be found, and no page may
be lost.
"""

from __future__ import annotations

from collections.abc import Callable

from worlds_site import World, family

PAGES = 60


def sessions(
    world: World,
    write: Callable[[str], str],
    *,
    words: int,
    count: int = 3,
    pages: int = PAGES,
) -> None:
    """Add `pages` articles of so many words, each under `count` session ids.

    `write` returns the body of a response: what it makes of the article's HTML.
    """
    queries = world.sessions(count)
    articles = [
        (title, f"<h1>{title}</h1>\n{world.paragraphs(words)}")
        for title in (world.title() for _ in range(pages))
    ]
    for query in queries:
        for number, (title, article) in enumerate(articles):
            world.add(
                f"/articles/{number}{query}", number, write(article), title=title, section=query
            )


ADVERTS = {
    "named": '<div class="ad advertisement">{}</div>',
    "ins": '<ins class="adsbygoogle">{}</ins>',
    "plain": "<div>{}</div>",
}


@family(kind=ADVERTS)
def advert(world: World, kind: str) -> None:
    """Articles of 200 words under three session ids, with another advert of 25 words on each
    response ({kind}): all but the first of each must be found."""
    sessions(world, lambda it: it + ADVERTS[kind].format(world.prose(25)), words=200)


@family(kind=ADVERTS)
def advert_in_the_middle(world: World, kind: str) -> None:
    """Articles of 200 words under three session ids, with another advert of 25 words ({kind})
    between two paragraphs of each response: all but the first of each must be found."""
    sessions(world, lambda it: middle(it, ADVERTS[kind].format(world.prose(25))), words=200)


@family(kind=("named", "plain"))
def related_links(world: World, kind: str) -> None:
    """Articles of 200 words under three session ids, with eight links to others drawn at random
    ({kind}): all but the first of each must be found."""
    titles = [world.title() for _ in range(40)]

    def write(article: str) -> str:
        drawn = world.chance.sample(titles, 8)
        items = "".join(f'<li><a href="/{each}">{each}</a></li>' for each in drawn)
        if kind == "named":
            return f'{article}<div class="related"><ul>{items}</ul></div>'
        return f"{article}<ul>{items}</ul>"

    sessions(world, write, words=200)


@family()
def saying(world: World) -> None:
    """Articles of 200 words under three session ids, with a saying of 14 words at the top: all
    but the first of each must be found."""
    sessions(world, lambda it: f"<p>{world.prose(14)}</p>{it}", words=200)


@family(words=(60, 100))
def clock(world: World, words: int) -> None:
    """Pages of {words} words under three session ids, with a changing <time> in the middle: all
    but the first of each must be found."""
    sessions(
        world,
        lambda it: middle(it, f"<p>It is <time>{moment(world)}</time></p>"),
        words=words,
    )


@family(words=(60, 100))
def timing(world: World, words: int) -> None:
    """Pages of {words} words under three session ids, with 'generated in 0.03 s' in the middle:
    all but the first of each must be found."""
    sessions(world, lambda it: middle(it, f"<p>generated in {seconds(world)} s</p>"), words=words)


@family(words=(60, 200))
def views(world: World, words: int) -> None:
    """Pages of {words} words under three session ids, with the number of their views and of the
    visitors online at the top: all but the first of each must be found."""

    def write(article: str) -> str:
        counts = world.chance.sample(range(1000, 99999), 2)
        return f"<p>Views: {counts[0]:,}</p><p>{counts[1]} visitors online</p>{article}"

    sessions(world, write, words=words)


@family(words=(60, 200))
def age(world: World, words: int) -> None:
    """Pages of {words} words under three session ids, with how long ago they were written: all
    but the first of each must be found."""

    def write(article: str) -> str:
        unit = world.chance.choice(["minutes", "hours", "days"])
        return f"<p>Posted {world.chance.randint(2, 59)} {unit} ago</p>{article}"

    sessions(world, write, words=words)


@family()
def greeting(world: World) -> None:
    """Articles of 200 words under three session ids, with a greeting, the number of a guest and a
    cart at the top: all but the first of each must be found."""

    def write(article: str) -> str:
        guest, items = world.chance.randint(10**5, 10**6), world.chance.randint(0, 9)
        price = world.chance.randint(100, 9999) / 100
        return f"<div>Welcome, guest {guest}! Your cart: {items} items, {price} €</div>{article}"

    sessions(world, write, words=200)


@family()
def ticker(world: World) -> None:
    """Short articles of 40 to 80 words, each twice, beside the 60 words of the latest headlines,
    of which each response has others: repetitions must be found, no article may be lost."""

    def write(article: str) -> str:
        return f'<div class="ticker"><ul>{world.links(12, 5)}</ul></div>{article}'

    sessions(world, write, words=world.chance.randint(40, 80), count=2)


@family()
def recently_viewed(world: World) -> None:
    """Articles of 250 words under three session ids, with the list of the articles that the
    session has seen last: all but the first of each must be found."""
    seen: list[str] = []

    def write(article: str) -> str:
        items = "".join(f'<li><a href="/{each}">{each}</a></li>' for each in seen[-6:])
        seen.append(article.partition("</h1>")[0].removeprefix("<h1>"))
        return f"{article}<h3>Recently viewed</h3><ul>{items}</ul>"

    sessions(world, write, words=250)


PICTURES = {
    "header": '<div class="hero"><img src="/header/{}.jpg" alt=""></div>',
    "advert": '<a href="/go"><img src="https://ads.example/{}.gif" width="468" height="60"></a>',
    "pixel": '<img src="/count.gif?{}" width="1" height="1">',
}


@family(kind=PICTURES)
def rotating_picture(world: World, kind: str) -> None:
    """Articles of 200 words under three session ids, with another picture of twenty on each
    response ({kind}): all but the first of each must be found."""

    def write(article: str) -> str:
        return PICTURES[kind].format(world.chance.randint(1, 20)) + article

    sessions(world, write, words=200)


SCRIPTS = {
    "json": '<script type="application/json">{}</script>',
    "state": "<script>window.__INITIAL_STATE__ = {};</script>",
}


@family(kind=SCRIPTS)
def nonce(world: World, kind: str) -> None:
    """Articles of 200 words under three session ids, with a token and the time of the response
    in a script ({kind}): all but the first of each must be found."""

    def write(article: str) -> str:
        now = world.chance.randint(10**9, 2 * 10**9)
        return article + SCRIPTS[kind].format(f'{{"csrf": "{world.token()}", "now": {now}}}')

    sessions(world, write, words=200)


@family()
def two_tests(world: World) -> None:
    """Articles of 200 words under four session ids, each with one of two calls to subscribe of
    20 words: all but the first of each must be found."""
    calls = [f"<div><h3>{world.title()}</h3><p>{world.prose(20)}</p></div>" for _ in range(2)]
    sessions(world, lambda it: it + world.chance.choice(calls), words=200, count=4)


@family()
def cookie_notice(world: World) -> None:
    """Articles of 200 words under three session ids, half of the responses with a notice of 40
    words at the top: all but the first of each must be found."""
    notice = f"<div>{world.prose(40)}</div>"
    sessions(world, lambda it: notice + it if world.chance.random() < 0.5 else it, words=200)


@family()
def recommended(world: World) -> None:
    """Products of 200 words under three session ids, with six cards of other products drawn at
    random, of 12 words each: all but the first of each must be found."""
    cards = [
        f'<div class="card"><a href="/{number}">{world.title(3)}</a><p>{world.prose(9)}</p></div>'
        for number in range(40)
    ]
    sessions(world, lambda it: it + "".join(world.chance.sample(cards, 6)), words=200)


@family()
def shuffled_comments(world: World) -> None:
    """Articles of 120 words under three session ids, with their eight comments in another order
    on each response: all but the first of each must be found."""
    comments: dict[str, list[str]] = {}

    def write(article: str) -> str:
        if article not in comments:
            drawn = (world.prose(world.chance.randint(15, 40)) for _ in range(8))
            comments[article] = [f"<li>{each}</li>" for each in drawn]
        world.chance.shuffle(comments[article])
        return f"{article}<ul>{''.join(comments[article])}</ul>"

    sessions(world, write, words=120)


@family()
def everything_changes(world: World) -> None:
    """Articles of 300 words under three session ids, with a saying, an advert, a clock and a
    timing, each in its place: all but the first of each must be found."""

    def write(article: str) -> str:
        article = middle(article, ADVERTS["plain"].format(world.prose(20)))
        return (
            f"<p>{world.prose(12)}</p>{article}<p>{moment(world)}</p>"
            f"<p>Page generated in {seconds(world)} seconds</p>"
        )

    sessions(world, write, words=300)


@family()
def two_lines_end_short_pages(world: World) -> None:
    """Pages of 35 to 50 words under four session ids, which end in two lines that change: all
    but the first of each must be found."""
    sessions(world, lambda it: it + two_lines(world), words=world.chance.randint(35, 50), count=4)


@family()
def one_page(world: World) -> None:
    """A single page of 35 words under 30 session ids, which ends in two lines that change: 29
    repetitions must be found."""
    sessions(world, lambda it: it + two_lines(world), words=35, count=30, pages=1)


@family()
def few_words(world: World) -> None:
    """Pages of 12 words under three session ids, with the time of day at the end: all but the
    first of each must be found."""
    sessions(world, lambda it: f"{it}<p>{moment(world)}</p>", words=12)


@family()
def session_in_the_path(world: World) -> None:
    """Articles of 150 words under a session id that stands in the path, with a timing at the
    end: all but the first of each must be found."""
    articles = [(world.title(), world.paragraphs(150)) for _ in range(40)]
    for _ in range(3):
        session = world.token(24)
        for number, (title, text) in enumerate(articles):
            ending = f"<p>Page generated in {seconds(world)} seconds</p>"
            path = f"/(S({session}))/page{number}.aspx"
            world.add(path, number, f"<h1>{title}</h1>{text}{ending}", title=title)


def middle(article: str, part: str) -> str:
    """Return an article with a part in the middle of its paragraphs, or within its only one."""
    head, *paragraphs = article.split("<p>")
    if len(paragraphs) == 1:
        words = paragraphs[0].removesuffix("</p>").split(" ")
        half = len(words) // 2
        return f"{head}<p>{' '.join(words[:half])}</p>{part}<p>{' '.join(words[half:])}</p>"
    half = len(paragraphs) // 2
    before = "".join(f"<p>{each}" for each in paragraphs[:half])
    return f"{head}{before}{part}" + "".join(f"<p>{each}" for each in paragraphs[half:])


def moment(world: World) -> str:
    """Return a time of some day."""
    hour, minute, second = (world.chance.randrange(end) for end in (24, 60, 60))
    return f"{world.chance.randint(1, 28)} May 2024, {hour:02}:{minute:02}:{second:02}"


def seconds(world: World) -> str:
    """Return how long a page took to make."""
    return f"{world.chance.random():.4f}"


def two_lines(world: World) -> str:
    """Return two lines that no other response has."""
    visitor = world.chance.randint(1000, 999999)
    return f"<p>You are visitor {visitor}</p><p>Page generated in {seconds(world)} s</p>"
