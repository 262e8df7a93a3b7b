"""URLs that show nothing: soft 404s, forms, empty months, combinations of known things."""

import re
from itertools import product

from kinds.site import HOST, UNLESS_SKIPPING, kind


@kind(must_keep_all=UNLESS_SKIPPING, found=0.9)
def soft_404s(site):
    """Numbers of which nine in a thousand are products, and the others soft 404s."""
    urls = [f"/item/{number}/" for number in range(site.some(1000, 330))]
    for number, url in enumerate(urls):
        site.page(url, url if number % 111 == 77 else "no such item")
    site.index("/", site.indexes(urls, 111))


@kind(settings={"NEARDUP_PATTERN_BUDGET": 100})
def mail(site):
    """`/article.php?id=` in lists of ten, and for each article six forms `/mail.php?id=`, which
    show one page; with a budget for patterns that bring nothing new."""
    articles = [f"/article.php?id={number}" for number in range(site.some(300, 60))]
    for number, url in enumerate(articles):
        forms = [f"/mail.php?id={6 * number + n}" for n in range(6)]
        site.page(url, url, links=forms)
        for form in forms:
            site.page(form, "mail", title="Mail to the editor")
    site.index("/", site.chain(articles, 10))


@kind(settings={"NEARDUP_PATTERN_BUDGET": 100})
def empty_then_full(site):
    """Entries of a register by number: the first 200 are withdrawn and say so, the others hold
    something; with a budget."""
    count = site.some(300, 240)
    urls = [f"/entry/{number}" for number in range(count)]
    for number, url in enumerate(urls):
        site.page(url, "withdrawn" if number < 200 else url)
    site.index("/", site.indexes(urls, 100))


@kind(settings={"NEARDUP_PATTERN_BUDGET": 40})
def short_records(site):
    """A catalogue of some two hundred words a page, of which a record has ten to twenty of its
    own; with a budget."""
    urls = [f"/record/{number}" for number in range(site.some(300, 150))]
    usual = site.prose("how to borrow a book", 200)
    for url in urls:
        cells = {name: site.words(f"{url} {name}", 3) for name in ("Author", "Publisher", "Place")}
        rows = "".join(f"<tr><th>{name}<td>{cell}</tr>" for name, cell in cells.items())
        site.page(url, url, text=f"<table>{rows}</table>{usual}")
    site.index("/", site.indexes(urls))


@kind(found=0.9, saved=0.3)
def login(site):
    """Each article links to `/login?next=` itself, which is one page."""
    urls = []
    for number in range(site.some(165, 90)):
        url = f"/article/{number}"
        form = f"/login?next=%2Farticle%2F{number}"
        site.page(url, url, links=[form])
        site.page(form, "login", title="Log in")
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def login_wall(site):
    """A third of a club's pages show the form to log in instead, at their own URLs, in no
    order."""
    urls = [f"/club/{site.words(f'page {number}', 2).replace(' ', '-').lower()}-{number}"
            for number in range(site.some(300, 120))]  # fmt: skip
    for number, url in enumerate(urls):
        site.page(url, "login" if number * 7919 % 3 else url)
    site.index("/", site.indexes(urls))


@kind(found=0.8)
def calendar(site):
    """A calendar without end, `/calendar?month=2026-11`: a few events in the first two years, with
    pages of their own, and then nothing."""
    months = site.some(24, 12)
    events = {}
    for number in range(site.some(40, 16)):
        events.setdefault(site.chance.randrange(months), []).append(f"/event/{number}")

    def otherwise(url: str):
        if not (match := re.fullmatch(r"/calendar\?month=(\d{4})-(\d\d)", url)):
            return None
        at = (int(match[1]) - 2026) * 12 + int(match[2]) - 1
        if at not in range(-12, site.some(400, 140)):
            return None
        held = events.get(at, [])
        listed = "".join(f'<li><a href="{each}">{site.words(each, 4)}</a></li>' for each in held)
        text = f"<ul>{listed}</ul>" if held else "<p>There are no events in this month.</p>"
        text += site.prose("about the calendar", 40)
        following, before = (
            f"/calendar?month={2026 + n // 12}-{n % 12 + 1:02}" for n in (at + 1, at - 1)
        )
        title = f"Events {match[1]}-{match[2]}"
        content = "month " + " ".join(held) if held else ""
        return site.page(
            url, content, text=text, title=title, links=[following, before], add=False
        )

    site.otherwise = otherwise
    for event in (each for held in events.values() for each in held):
        site.page(event, event)
    site.index("/", ["/calendar?month=2026-01"])


@kind()
def facets(site):
    """A shop's products behind lists by colour, size, brand and order in any combination."""
    brands, colours, sizes = ("ada", "bob", "cyd"), ("red", "blue", "grey"), ("s", "m", "l")
    products = {}
    for number in range(site.some(120, 45)):
        brand, colour, size = (site.chance.choice(each) for each in (brands, colours, sizes))
        products[f"/product/{number}"] = {"brand": brand, "colour": colour, "size": size}
    for url in products:
        site.page(url, url)
    choices = {"brand": brands, "colour": colours, "size": sizes}
    orders = ("", "price") if site.quick else ("", "price", "name")
    for picked in product(*(("", *each) for each in choices.values()), orders):
        query = {
            name: value for name, value in zip((*choices, "sort"), picked, strict=True) if value
        }
        url = f"/shop?{'&'.join(f'{a}={b}' for a, b in query.items())}" if query else "/shop"
        held = [
            other for other, has in products.items()
            if all(has.get(name) == value for name, value in query.items() if name != "sort")
        ]  # fmt: skip
        if "sort" in query:
            held.sort(key=lambda other: site.words(f"{query['sort']} {other}", 1))
        listed = "".join(
            f'<li><a href="{other}">{site.words(other, 3)}</a> '
            f"{site.words(f'line {other}', 8)}</li>"
            for other in held
        )
        more = [
            "/shop?" + "&".join(f"{a}={b}" for a, b in {**query, name: value}.items())
            for name, values in {**choices, "sort": orders[1:]}.items() for value in values
        ]  # fmt: skip
        site.page(
            url, "" if query else "shop", text=f"<ul>{listed}</ul>", title="Shop", links=more
        )
    site.index("/", ["/shop"])


@kind(endless=True, found=0.8)
def relative_links(site):
    """A manual whose links are relative without need, and whose server takes `/a/b/c.html` for
    `/c.html`: paths grow for ever."""
    names = [f"{site.words(f'chapter {n}', 1).lower()}{n}" for n in range(site.some(60, 30))]
    chapters = {
        name: [names[(2 * n + k) % len(names)] for k in (1, 2)] for n, name in enumerate(names)
    }

    def otherwise(url: str):
        *_, last = url.split("/")
        name = last.removesuffix(".html")
        if name not in chapters:
            return None
        links = [f"{other}/{other}.html" for other in chapters[name]]
        return site.page(url, name, links=links, add=False)

    site.otherwise = otherwise
    site.index("/", [f"{names[0]}.html", f"{names[1]}.html"])


@kind(must_keep_all=UNLESS_SKIPPING, found=0.9)
def empty_search(site):
    """Tags of which 19 in 20 list nothing, the pages of the others have texts: one crawl in
    twenty may test sixty of the first kind alone."""
    urls = [f"/tag/{site.words(f'tag {n}', 1).lower()}{n}/" for n in range(site.some(400, 160))]
    for number, url in enumerate(urls):
        site.page(url, url if number % 20 == 11 else "nothing is tagged so")
    site.index("/", site.indexes(urls))


@kind(found=0.9)
def withdrawn_originals(site):
    """Articles of which every tenth answers 503 at its plain URL; its printed copy,
    `/print/ARTICLE`, works."""
    urls = []
    for number in range(site.some(200, 80)):
        url, copy = f"/article/{number}", f"/print/article/{number}"
        page = site.page(url, url, links=[copy], add=False)
        site.pages[f"{HOST}{url}"] = page._replace(status=503 if number % 10 == 4 else 200)
        site.page(copy, url)
        urls += [url, copy]
    site.index("/", site.indexes(urls, 60))
