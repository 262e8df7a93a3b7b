"""Worlds made against rules that serve other families: what looks alike there is content here.

None of these pages may be lost, unless they repeat one that was delivered.
"""

from __future__ import annotations

from itertools import permutations, product

from worlds_changing import advert, related_links, seconds, timing
from worlds_disguised import PLACES, archives, content_in, menus, photos, shells
from worlds_repeated import calendar, editions
from worlds_shops import (
    jobs,
    one_script,
    products_by_name,
    products_untitled,
    reviews,
    unlike,
    variants,
)
from worlds_site import World, family, slug


@family(first=("changes", "content"))
def one_host(world: World, first: str) -> None:
    """One host with sections of other families, those in which something changes on each
    response before or after the others ({first} first): repetitions must be found, no page may be
    lost."""
    changing = (
        lambda: world.part("news", advert, kind="plain"),
        lambda: world.part("blog", timing, words=100),
        lambda: world.part("wiki", related_links, kind="plain"),
        lambda: world.part("dates", calendar),
        lambda: world.part("docs", editions, words=120, version="number"),
    )
    content = (
        lambda: world.part("shop", products_untitled, common=60, own=20),
        lambda: world.part("goods", products_by_name, common=200, own=3),
        lambda: world.part("script", one_script, share=20, ids="number"),
        lambda: world.part("tags", archives, common=80, entries=10),
        lambda: world.part("people", content_in, place="sidebar", titles="own"),
        lambda: world.part("food", menus, titles="common"),
        lambda: world.part("pictures", photos, words=10, titles="own"),
        lambda: world.part("app", shells, titles="own"),
        lambda: world.part("career", jobs, titles="own"),
        lambda: world.part("things", variants, words=40),
        lambda: world.part("said", reviews, titles="common"),
    )
    for fill in changing + content if first == "changes" else content + changing:
        fill()


@family()
def mixed_templates(world: World) -> None:
    """One host with five templates of 24 pages each (the content first, last, in a sidebar, in
    links, in a menu), each with 60 words of its own: no page may be lost."""
    commons = [world.paragraphs(world.chance.randint(30, 120)) for _ in range(5)]

    def write(template: int) -> str:
        own, common = f"<p>{world.prose(60)}</p>", commons[template]
        match template:
            case 0:
                return own + common
            case 1:
                return common + own
            case 2:
                return common + PLACES["sidebar"].format(own)
            case 3:
                return f"{common}<ul>{world.links(20)}</ul>"
            case _:
                return f'<ul class="menu"><li>{own}</li></ul>{common}'

    for template in range(5):
        title = world.title(2)
        for number in range(24):
            path = f"/{template}/{number}"
            body = f"<h1>{title}</h1>{write(template)}"
            world.add(path, path, body, title=title, section=str(template))


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
                ending = last.format(f"{world.prose(12)} Made in {seconds(world)} s")
                path = f"/articles/{number}"
                body = f"<h1>{title}</h1>{text}{ending}"
                world.add(path + query, path, body, title=title, section="articles")

    def content() -> None:
        terms = world.paragraphs(90)
        for number in range(40):
            path, own = f"/{folder}/{number + 100}", last.format(world.prose(16))
            body = f"<h1>Shop</h1>{terms}{own}"
            world.add(path, path, body, title="Shop", section="shop")

    for add in (changes, content) if first == "changes" else (content, changes):
        add()


@family()
def releases(world: World) -> None:
    """Notes on 60 releases that say the same of each in 60 words, of which three are its version
    and the one before, in numbers like those of days: none may be lost."""
    name, first, *rest = world.title(1), *(world.prose(19) for _ in range(3))
    for number in range(60):
        version, before = (
            f"{1 + n // 20}.{1 + n % 12}.{1 + n % 28}" for n in (number, number - 1)
        )
        body = (
            f"<h1>{name} {version}</h1><p>{name} {version} mends an error of {name} {before}.</p>"
            f"<p>{first}</p><p>{rest[0]}</p><p>To move from {before}: {rest[1]}</p>"
        )
        path = f"/releases/{version}.html"
        world.add(path, path, body, title=f"{name} {version} release notes", section="releases")


@family()
def horoscopes(world: World) -> None:
    """Twelve pages under five days that a parameter names, each with 45 words of the day among
    120 that stay: as session ids are, days are the same for all paths. None may be lost."""
    common = world.paragraphs(60)
    for sign in world.names(12):
        text = world.paragraphs(60)
        for day in range(1, 6):
            path = f"/signs/{slug(sign)}?day=2024-05-0{day}"
            body = f"<h1>{sign}</h1>{text}<p>{world.prose(45)}</p>{common}"
            world.add(path, path, body, title=sign)


@family()
def unfolded(world: World) -> None:
    """Entries of a dictionary of 120 words, each also with a parameter that is only added
    (?show=examples) and then with 40 words more at the end: none may be lost."""
    for word in world.names(50):
        text = world.paragraphs(120)
        path = f"/words/{slug(word)}"
        world.add(path, word, f"<h1>{word}</h1>{text}", title=word)
        more = f"<p>{world.prose(40)}</p>"
        path += "?show=examples"
        world.add(path, path, f"<h1>{word}</h1>{text}{more}", title=word, section="examples")


@family(words=(4, 10))
def combinations(world: World, words: int) -> None:
    """A shop whose titles combine few words, most of which are on a third of the pages or more,
    with 150 common words and {words} of their own: none may be lost."""
    terms, kind = world.paragraphs(150), world.names(1)[0]
    values = [world.names(count) for count in (3, 3, 3, 3)]
    for chosen in product(*values):
        title = f"{kind} {' '.join(chosen).lower()}"
        body = f"<h1>{title}</h1><p>{world.prose(words)}</p>{terms}"
        world.add(f"/{slug(title)}", title, body, title=title)


@family(own=(0, 8))
def same_file_names(world: World, own: int) -> None:
    """Products in folders of their own, each as details.html, with titles of their own, 150
    common words and {own} of their own: no editions of each other; none may be lost."""
    terms = world.paragraphs(150)
    for name in unlike(world, 50):
        line = f"<p>{world.prose(own)}</p>" if own else ""
        body = f"<h1>{name}</h1>{line}{terms}"
        world.add(f"/{slug(name)}/details.html", name, body, title=f"{name}: details")


@family()
def ends_of_namesakes(world: World) -> None:
    """60 departments, each with its contact.html in a folder of its own, under one title and 200
    common words, and 16 words of their own at the end: none may be lost."""
    terms = world.paragraphs(200)
    for name in world.names(60):
        body = f"<h1>Contact</h1>{terms}<p>{world.prose(16)}</p>"
        world.add(f"/{slug(name)}/contact.html", name, body, title="Contact")


@family(kind=("number", "word"))
def models(world: World, kind: str) -> None:
    """Two models of 40 products, in folders that name the model ({kind}) as those of editions do,
    with 12 words of their own among 60: none may be lost."""
    terms = world.paragraphs(60)
    for number, name in enumerate(unlike(world, 40)):
        for model in ("14", "15") if kind == "number" else ("men", "women"):
            title = f"{name} {model}"
            body = f"<h1>{title}</h1><p>{world.prose(12)}</p>{terms}"
            path = f"/{model}/page{number}.html"
            world.add(path, path, body, title=title, section=model)


@family()
def codes(world: World) -> None:
    """Spare parts whose titles, headings and one line name a code of letters and digits, with 150
    common words: none may be lost."""
    terms, kind = world.paragraphs(150), world.names(1)[0]
    for number in range(60):
        letters = "".join(world.chance.choices("BCDFGHKLMNPRSTVX", k=3))
        code = f"{letters[:2]}{number + 20}{letters[2]}"
        body = f"<h1>{kind} {code}</h1><p>Order {code}</p>{terms}"
        world.add(f"/parts/{code}", code, body, title=f"{kind} {code}")


@family()
def comment_pages(world: World) -> None:
    """Articles of 300 words, each on three pages (?comments=2) with other comments, of 80 words:
    none may be lost."""
    for number in range(30):
        title, text = world.title(), world.paragraphs(300)
        for page in ("", "?comments=2", "?comments=3"):
            comments = "".join(f"<li>{world.prose(10)}</li>" for _ in range(8))
            path = f"/articles/{number}{page}"
            body = f"<h1>{title}</h1>{text}<ul>{comments}</ul>"
            world.add(path, path, body, title=title, section=page)


@family(titles=("own", "common"))
def linked_text(world: World, titles: str) -> None:
    """Pages of an encyclopedia of which 80 words in sentences all stand in links, below 60 common
    words that do not, under {titles} titles: none may be lost."""
    common, alike = world.paragraphs(60), world.title(2)
    for number in range(50):
        title = world.title(2) if titles == "own" else alike
        words = world.prose(80).split(" ")
        groups = (" ".join(words[at : at + 4]) for at in range(0, len(words), 4))
        text = " ".join(f'<a href="/{number}-{at}">{each}</a>' for at, each in enumerate(groups))
        world.add(f"/{number}", number, f"<h1>{title}</h1>{common}<p>{text}</p>", title=title)


@family()
def matches(world: World) -> None:
    """Matches of six teams, home and away: the same two names in titles and headings, in another
    order, with 20 words of their own among 100: none may be lost."""
    common = world.paragraphs(100)
    for home, away in permutations(world.names(6), 2):
        title = f"{home} against {away}"
        score = f"{world.chance.randint(0, 5)}:{world.chance.randint(0, 5)}"
        body = f"<h1>{title}</h1><p>{score}</p><p>{world.prose(20)}</p>{common}"
        world.add(f"/{slug(home)}/{slug(away)}", title, body, title=title)


@family()
def directions(world: World) -> None:
    """Lines of a railway in both directions: the same 30 stops from the last to the first, under
    titles that name the ends: none may be lost."""
    for number in range(30):
        stops = [" ".join(world.names(2)) for _ in range(30)]
        for way in (stops, stops[::-1]):
            title = f"{way[0]} to {way[-1]}"
            items = "".join(f"<li>{each}</li>" for each in way)
            path = f"/lines/{number}/{slug(way[-1])}"
            world.add(path, title, f"<h1>{title}</h1><ol>{items}</ol>", title=title)


@family(numbers_alone=True)
def dates(world: World) -> None:
    """A weekly event whose pages share title and 80 words and differ in the date alone: reported
    apart."""
    common, title = world.paragraphs(80), world.title(3)
    for week in range(48):
        date = f"{week % 4 * 7 + 1}/{week // 4 + 1}/2024, {week % 3 + 18}:30"
        body = f"<h1>{title}</h1><p><time>{date}</time></p>{common}"
        world.add(f"/events/{week}", week, body, title=title)
