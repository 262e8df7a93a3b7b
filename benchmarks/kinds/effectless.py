"""Parameters without any effect, whatever they are called, and lists in other orders."""

import re
from random import Random

from kinds.site import HOST, Changing, KnownPage, KnownSite, kind


def articles(site: KnownSite, count: int, variants: list[str], folder: str = "article") -> None:
    """Add articles that are shown at other URLs too, and an index in parts."""
    urls = []
    for number in range(count):
        url = f"/{folder}/{site.words(f'{folder} {number}', 2).replace(' ', '-').lower()}-{number}"
        others = [variant.format(url, number) for variant in variants]
        for each in (url, *others):
            site.page(each, url, links=others if each == url else ())
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind(found=0.9, saved=0.3, is_audited=True)
def printable(site):
    """Each article at `?printable=yes` too."""
    articles(site, site.some(170, 110), ["{0}?printable=yes"])


@kind(found=0.55)
def copies_under_another_title(site):
    """Each article at `?layout=print`, with 'printable version' in its title and heading."""
    urls = []
    for number in range(site.some(120, 70)):
        url, copy = f"/article/{number}", f"/article/{number}?layout=print"
        title = site.words(url, 3)
        site.page(url, url, title=f"{title} - Herald", links=[copy])
        site.page(copy, url, text=site.prose(url), title=f"{title} - printable version - Herald")
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind(found=0.9, saved=0.3, is_audited=True)
def campaigns(site):
    """Each article with two sets of `utm_source` and `utm_medium`, always together."""
    sources = ("a&utm_medium=mail", "b&utm_medium=web")
    articles(site, site.some(170, 70), [f"{{0}}?utm_source={source}" for source in sources])


@kind(found=0.9, saved=0.3)
def orders_of_a_list(site):
    """Lists of 12 rows that are short enough for one page: `?sort=` and `?dir=` show all of them
    in another order, and `?view=grid` the same in tiles."""
    urls = []
    for number in range(site.some(80, 25)):
        plain = f"/list-of/{number}/"
        names = [site.words(f"row {number} {row}", 3) for row in range(12)]
        numbers = [site.chance.randrange(1000) for _ in names]
        rows = list(zip(names, numbers, strict=True))
        orders = {
            plain: rows,
            f"{plain}?sort=name&dir=asc": sorted(rows),
            f"{plain}?sort=name&dir=desc": sorted(rows, reverse=True),
            f"{plain}?sort=size&dir=asc": sorted(rows, key=lambda row: row[1]),
        }
        links = [*list(orders)[1:], f"{plain}?view=grid"]
        for url, ordered in orders.items():
            cells = "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in ordered)
            text = f"<table>{cells}</table>"
            site.page(url, plain, text=text, links=links if url == plain else ())
        tiles = "".join(f"<div><b>{a}</b> <i>{b}</i></div>" for a, b in rows)
        site.page(links[-1], plain, text=f"<section>{tiles}</section>")
        urls.append(plain)
    site.index("/", site.indexes(urls))


@kind()
def orders_of_a_long_list(site):
    """Lists that show the first 12 of 48 rows: `?sort=` shows others first, in one of two lists,
    and each row has a page that only these lists link to."""
    urls = []
    for number in range(site.some(40, 14)):
        plain = f"/list-of/{number}/"
        rows = [f"/row/{number}/{row}" for row in range(48 if number % 2 else 12)]
        orders = {plain: 1, f"{plain}?sort=name": 5, f"{plain}?sort=price": 7}
        for url, step in orders.items():
            shown = sorted(rows, key=lambda row: (int(row.split("/")[-1]) * step) % 47)[:12]
            cells = "".join(f'<li><a href="{row}">{site.words(row, 3)}</a></li>' for row in shown)
            content = plain + " ".join(sorted(shown))
            text = f"<ul>{cells}</ul>"
            title = site.words(plain, 2)
            links = list(orders)[1:] if url == plain else ()
            site.page(url, content, text=text, title=title, links=links)
            for row in shown:
                if not site.answer(f"{HOST}{row}"):
                    site.page(row, row)
        urls.append(plain)
    site.index("/", site.indexes(urls))


@kind(found=0.9, saved=0.3, endless=True)
def session_in_the_query(site):
    """Each response issues a session, and all its links carry it as `sid=`."""
    sessions(site, "{0}?sid={1}")


# Measured: -.01 saved. A claim is about a segment by its name, and here each name is met once.
@kind(found=0.9, endless=True)
def session_in_the_path(site):
    """Each response issues a session, and all its links carry it as the first folder:
    `/S12ab34/`."""
    sessions(site, "/S{1}{0}")


@kind(found=0.9, saved=0.3, endless=True)
def jsessionid(site):
    """Each response issues a session, and all its links carry it as `;jsessionid=`."""
    sessions(site, "{0};jsessionid={1}")


def sessions(site: KnownSite, template: str) -> None:
    """Answer all URLs of threads that carry a session, whichever it is, and those without one."""
    plain = ["/", *(f"/thread/{number}" for number in range(site.some(120, 50)))]
    pattern = (
        re.escape(template)
        .replace(re.escape("{0}"), "(/.*?)")
        .replace(re.escape("{1}"), "[0-9a-f]+")
    )
    carried = re.compile(pattern)

    def links(here: str, of: list[str]) -> Changing:
        def shown(number: int) -> str:
            issued = f"{Random(f'{site.seed} {here} {number}').getrandbits(32):08x}"
            items = (f'<li><a href="{template.format(url, issued)}">more</a></li>' for url in of)
            return f"<ul>{''.join(items)}</ul>"

        return shown

    def otherwise(url: str) -> KnownPage | None:
        match = carried.fullmatch(url)
        here = match[1] if match else url
        if here not in plain:
            return None
        at = plain.index(here)
        near = [plain[(2 * at + 1) % len(plain)], plain[(2 * at + 2) % len(plain)], plain[at - 1]]
        return site.page(here, here, beside=links(url, near), add=False)

    site.otherwise = otherwise


# Measured: .03 saved. The three links of an article stand side by side, and are requested at one
# time, before any of them is known.
@kind(found=0.9)
def session_before_the_id(site):
    """`/view.php?s=…&id=N`: the id says which article, and one of many sessions comes first; lists
    of ten articles, each linked under three sessions."""
    articles = site.some(150, 60)
    urls = []
    for number in range(articles):
        for _ in range(3):
            urls.append(f"/view.php?s={site.chance.getrandbits(64):016x}&id={number}")
            site.page(urls[-1], f"article {number}")
    site.index("/", site.chain(urls, 30))


@kind(found=0.9)
def overlapping_pages(site):
    """A blog's lists by `?page=`, each with ten summaries, five of which the page before showed;
    each summary is that of an article. `?page=1` is the plain list."""
    articles = [f"/blog/{number}" for number in range(site.some(300, 90))]
    for url in articles:
        site.page(url, url)
    lists = [f"/blog?page={at // 5 + 1}" for at in range(0, len(articles) - 5, 5)]
    for number, url in enumerate(lists):
        shown = articles[number * 5 : number * 5 + 10]
        text = "".join(
            f'<h2><a href="{each}">{site.words(each, 3)}</a></h2>{site.prose(each, 30)}'
            for each in shown
        )
        links = lists[max(0, number - 1) : number + 2]
        site.page(url, url, text=text, title="Blog", links=links)
        if number == 0:
            site.page("/blog", url, text=text, title="Blog", links=links)
    site.index("/", ["/blog"])


@kind(found=0.9, saved=0.3)
def directories(site):
    """Folders of files as Apache lists them, with the four orders `?C=N;O=D`."""
    folders = [f"/pub/{number}/" for number in range(site.some(60, 22))]
    orders = ("?C=N;O=D", "?C=M;O=A", "?C=S;O=A", "?C=D;O=A")
    for folder in folders:
        rows = [
            (site.words(f"{folder} {n}", 2).replace(" ", "_"), n * 7919 % 1000) for n in range(15)
        ]
        for number, order in enumerate(("", *orders)):
            ordered = sorted(rows, key=lambda row, n=number: row[n % 2], reverse=number == 1)
            text = "".join(f"<tr><td>{a}.dat</td><td>{b}K</td></tr>" for a, b in ordered)
            site.page(
                folder + order, folder, text=f"<table>{text}</table>", title=f"Index of {folder}",
                links=[folder + each for each in orders],
            )  # fmt: skip
    site.index("/", folders)


@kind(found=0.9, saved=0.3)
def tokens_by_another_name(site):
    """Each article with three values of `?x7=`, a name that nobody knows, and no effect."""
    articles(site, site.some(120, 60), ["{0}?x7=" + value for value in ("k1", "8fz", "q")])


@kind(found=0.9, saved=0.3)
def interface_languages(site):
    """Each article at `?hl=de` and `?hl=fr`, which translate a menu of 30 links, not the article;
    each link of the menu carries the language on."""
    urls = []
    topics = [f"/topic/{number}" for number in range(30)]
    for topic in topics:
        site.page(topic, topic)
    for number in range(site.some(120, 80)):
        url = f"/article/{number}"
        copies = [f"{url}?hl={language}" for language in ("de", "fr")]
        for each in (url, *copies):
            language = each.partition("=")[2]
            carried = f"?hl={language}" if language else ""
            menu = "<br>".join(
                f'<a href="{topic}{carried}">{site.words(f"{topic} {language}", 3)}</a>'
                for topic in topics
            )
            beside = f'<div class="navigation">{menu}</div>'
            site.page(each, url, beside=beside, links=copies if each == url else ())
        urls.append(url)
    for topic in topics:
        for language in ("de", "fr"):
            site.page(f"{topic}?hl={language}", topic)
    site.index("/", site.indexes(urls))


@kind()
def matters_after_all(site):
    """`?mode=` has no effect on the articles of a folder, and in another folder, met much later,
    it is another text on one page of three."""
    late = []
    for number in range(site.some(60, 30)):
        url = f"/deep/{number}"
        others = [f"{url}?mode=x"]
        site.page(url, url, links=others)
        site.page(others[0], others[0] if number % 3 == 1 else url)
        late.append(url)
    count = site.some(120, 60)
    urls = [f"/article/{number}" for number in range(count)]
    for number, url in enumerate(urls):
        last = ["/deep/"] if number == count - 1 else []
        site.page(url, url, links=[f"{url}?mode=x", *last])
        site.page(f"{url}?mode=x", url)
    site.index("/deep/", late)
    site.index("/", site.indexes(urls))
