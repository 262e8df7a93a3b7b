"""Worlds of shops, boards and other sites whose pages share a template and most of their words.

None of these pages may be lost, unless they repeat one that was delivered.
"""

from __future__ import annotations

from worlds_site import World, family, slug

COMMON = (60, 100, 200, 400)


@family(common=COMMON, own=(3, 8, 20))
def products_by_name(world: World, common: int, own: int) -> None:
    """Products with titles of their own, {own} words of their own and {common} words that all
    share: none may be lost."""
    terms = world.paragraphs(common)
    for name in unlike(world, 60):
        body = f"<h1>{name}</h1><p>{world.prose(own)}</p>{terms}"
        world.add(f"/products/{slug(name)}", name, body, title=name)


@family(common=COMMON, own=(3, 8, 20))
def products_untitled(world: World, common: int, own: int) -> None:
    """Products under one common title, with {own} words of their own in a line and {common} words
    that all share: none may be lost."""
    terms, title = world.paragraphs(common), world.title(2)
    for number in range(60):
        line = " ".join([*world.names(1), *world.words(own - 1)])
        body = f"<h1>{title}</h1><p>{line}</p>{terms}"
        world.add(f"/products/{number}", number, body, title=title)


@family(common=(60, 200))
def products_by_heading(world: World, common: int) -> None:
    """Products under the one title of the shop, named by their heading, with eight words of their
    own and {common} words that all share: none may be lost."""
    terms = world.paragraphs(common)
    for name in unlike(world, 60):
        body = f"<h1>{name}</h1><p>{world.prose(8)}</p>{terms}"
        world.add(f"/products/{slug(name)}", name, body, title=world.host.brand)


@family()
def franchises(world: World) -> None:
    """Eight hosts in one template with the same paths and 100 common words, of which each has
    twelve words of its own and its town in the titles: none may be lost."""
    pages = [(title, world.paragraphs(100)) for title in ("Contact", "Prices", "Team", "News")]
    for town in world.names(8):
        host = world.new_host(world.host.style)
        host.brand = f"{world.host.brand} {town}"
        for title, common in pages:
            body = f"<h1>{title} {town}</h1><p>{world.prose(12)}</p>{common}"
            path = f"/{slug(title)}"
            content = (town, title)
            world.add(path, content, body, title=f"{title} {town}", host=host, section=town)


@family(numbers_alone=True, common=(20, *COMMON))
def products_by_number(world: World, common: int) -> None:
    """Products whose titles and {common} words differ in a number alone ('Product 123'): reported
    apart."""
    terms = world.paragraphs(common)
    for number in range(101, 161):
        body = f"<h1>Product {number}</h1><p>Item {number}, {number * 7 % 90} €</p>{terms}"
        world.add(f"/products/{number}", number, body, title=f"Product {number}")


@family(numbers_alone=True)
def prices(world: World) -> None:
    """Quotations of one share on 60 days, which differ in dates and prices alone: reported
    apart."""
    terms, name = world.paragraphs(80), world.names(1)[0]
    for day in range(60):
        date = f"2024-{day // 28 + 1:02}-{day % 28 + 1:02}"
        numbers = "".join(f"<td>{world.chance.randint(10, 9999) / 100}</td>" for _ in range(5))
        body = f"<h1>{name}</h1><p>{date}</p><table><tr>{numbers}</tr></table>{terms}"
        world.add(f"/quotes/{date}", date, body, title=f"{name} on {date}")


@family(titles=("own", "common"))
def kinds(world: World, titles: str) -> None:
    """A small shop: six kinds of five products, each with 120 words of its kind and 12 of its
    own, under {titles} titles: none may be lost."""
    common = world.title(2)
    for kind in world.names(6):
        text = world.paragraphs(120)
        for name in unlike(world, 5):
            title = name if titles == "own" else common
            body = f"<h1>{title}</h1><p>{world.prose(12)}</p>{text}"
            world.add(f"/{slug(kind)}/{slug(name)}", name, body, title=title, section=kind)


@family(words=(25, 40))
def variants(world: World, words: int) -> None:
    """30 products of 120 words in three variants that a parameter names, of which each has a
    title and {words} words of its own: none may be lost."""
    colours = world.names(3)
    for name in unlike(world, 30):
        text = world.paragraphs(120)
        for colour in colours:
            title = f"{name} {colour}"
            body = f"<h1>{title}</h1>{text}<p>{world.prose(words)}</p>"
            path = f"/products/{slug(name)}?variant={slug(colour)}"
            world.add(path, title, body, title=title)


@family()
def tabs(world: World) -> None:
    """30 products of 100 words under three tabs that a parameter names, each with 60 words of
    its own below them and no title of its own: none may be lost."""
    for name in unlike(world, 30):
        text = world.paragraphs(100)
        for tab in ("details", "delivery", "reviews"):
            body = f"<h1>{name}</h1>{text}<div>{world.prose(60)}</div>"
            world.add(f"/products/{slug(name)}?tab={tab}", (name, tab), body, title=name)


@family(titles=("own", "common"))
def reviews(world: World, titles: str) -> None:
    """Reviews of 60 products at /products/17/reviews, 20 to 60 words among 80 that all share,
    under {titles} titles: none may be lost."""
    terms = world.paragraphs(80)
    for number in range(60):
        title = f"Reviews of {world.title(2)}" if titles == "own" else "Reviews"
        body = f"<h1>{title}</h1><p>{world.prose(world.chance.randint(20, 60))}</p>{terms}"
        world.add(f"/products/{number}/reviews", number, body, title=title)


@family()
def empty_reviews(world: World) -> None:
    """Products of 90 words of their own, and of each a page that no one has reviewed it yet,
    which names it: none may be lost."""
    terms, yet = world.paragraphs(80), world.prose(12)
    for name in unlike(world, 40):
        body = f"<h1>{name}</h1>{world.paragraphs(90)}{terms}"
        world.add(f"/products/{slug(name)}", name, body, title=name)
        body = f"<h1>Reviews of {name}</h1><p>{yet}</p>{terms}"
        path = f"/products/{slug(name)}/reviews"
        world.add(path, f"{name} reviews", body, title=f"Reviews of {name}", section="reviews")


@family(titles=("own", "common"))
def jobs(world: World, titles: str) -> None:
    """Job offers under the same 800 words of terms, with 40 words of their own and {titles}
    titles: none may be lost."""
    terms = world.paragraphs(800)
    for number in range(50):
        title = world.title(3) if titles == "own" else "Job offer"
        body = f"<h1>{title}</h1><p>{world.prose(40)}</p>{terms}"
        world.add(f"/jobs/{number}", number, body, title=title)


@family(quoted=(1, 3))
def quotations(world: World, quoted: int) -> None:
    """A board whose posts quote the last {quoted} of their thread in full and add 20 to 60 words,
    each on a page of its own under the title of the thread: none may be lost."""
    for thread in range(12):
        title, posts = world.title(), [world.prose(120)]
        for number in range(8):
            quotes = "".join(f"<blockquote>{each}</blockquote>" for each in posts[-quoted:])
            posts.append(world.prose(world.chance.randint(20, 60)))
            body = f"<h1>{title}</h1>{quotes}<p>{posts[-1]}</p>"
            path = f"/thread/{thread}/post/{number}"
            world.add(path, path, body, title=f"Re: {title}", section=str(thread))


@family()
def growing_mails(world: World) -> None:
    """Archived mails, each of which quotes all of the thread below 25 words of its own, under one
    subject: none may be lost."""
    for thread in range(12):
        title, text = world.title(), world.prose(60)
        for number in range(8):
            quote = "<br>&gt; ".join(text[at : at + 70] for at in range(0, len(text), 70))
            own = world.prose(25)
            body = f"<h1>{title}</h1><p>{own}</p><p>{world.names(1)[0]} wrote:<br>{quote}</p>"
            text = f"{own} {text}"
            path = f"/mail/{thread}/{number}.html"
            world.add(path, path, body, title=f"Re: {title}", section=str(thread))


@family(first=("repeated", "once"))
def threads(world: World, first: str) -> None:
    """Threads of four pages (?page=2) under one title, each of ten posts, the first post {first}:
    none may be lost."""
    for number in range(25):
        title, start = world.title(), f"<p>{world.prose(100)}</p>"
        for page in range(1, 5):
            posts = "".join(f"<p>{world.prose(20)}</p>" for _ in range(10))
            query = f"?page={page}" if page > 1 else ""
            top = start if first == "repeated" else ""
            path = f"/thread/{number}{query}"
            world.add(path, path, f"<h1>{title}</h1>{top}{posts}", title=title)


@family(share=(10, 20, 40), ids=("number", "hex"))
def one_script(world: World, share: int, ids: str) -> None:
    """index.php?id=N: 60 pages of 200 words that share path, title and all but one paragraph of
    {share} % of the words; the id is a {ids}: none may be lost."""
    own, title = 2 * share, world.title()
    above, below = world.paragraphs(100 - share), world.paragraphs(100 - share)
    for number in range(60):
        body = f"<h1>{title}</h1>{above}<p>{world.prose(own)}</p>{below}"
        name = number if ids == "number" else world.token(12)
        world.add(f"/index.php?id={name}", number, body, title=title)


@family(share=(12, 30))
def many_scripts(world: World, share: int) -> None:
    """Twelve scripts (news.php?id=N), each with eight pages of 200 words that share path, title
    and all but one paragraph of {share} % of the words: none may be lost."""
    for name in unlike(world, 12):
        own = 2 * share
        above, below = world.paragraphs(100 - share), world.paragraphs(100 - share)
        for number in range(8):
            body = f"<h1>{name}</h1>{above}<p>{world.prose(own)}</p>{below}"
            path = f"/{slug(name)}.php?id={number}"
            world.add(path, path, body, title=name, section=name)


def unlike(world: World, count: int) -> list[str]:
    """Return names of two words for so many products, all different."""
    first, second = world.names(count), world.names(count)
    return [f"{a} {b.lower()}" for a, b in zip(first, second, strict=True)]
