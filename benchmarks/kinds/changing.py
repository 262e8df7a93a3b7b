"""Parts of pages that change with each response, and copies that must be found all the same."""

from kinds.site import Changing, KnownSite, chance, kind


def copies(
    site: KnownSite, count: int, templates: list[str], noise, *, inside: bool = False
) -> None:
    """Add articles with copies at other URLs; `noise(url)` says what changes on each page.

    It stands in the page's own part if it is `inside`, in the middle, else beside it.
    """
    urls = []
    for number in range(count):
        url = f"/article/{site.words(f'article {number}', 2).replace(' ', '-').lower()}-{number}"
        others = [template.format(url) for template in templates]
        for each in (url, *others):
            links = others if each == url else ()
            if inside:
                title, text = site.words(url, 3), _within(site, url, noise(each))
                site.page(each, url, text=text, title=title, links=links)
            else:
                site.page(each, url, beside=noise(each), links=links)
        urls.append(url)
    site.index("/", site.indexes(urls))


def _within(site: KnownSite, url: str, noise: Changing) -> Changing:
    first, _, rest = site.prose(url).partition("</p>")
    heading = f"<h1>{site.words(url, 3)}</h1>"
    return lambda number: f"{heading}{first}</p>{noise(number)}{rest}"


def shop_block(site: KnownSite, entries: int, of: int, words: int):
    """Return noise: some of a list of teasers, drawn anew for each response."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number).sample(range(of), entries)
            items = "".join(
                f'<li><a href="/shop/{n}">{site.words(f"teaser {n}", words)}</a></li>'
                for n in drawn
            )
            return f'<div class="also"><h2>Others bought</h2><ul>{items}</ul></div>'

        return shown

    return noise


def teasers(site: KnownSite, of: int) -> None:
    for number in range(of):
        url = f"/shop/{number}"
        site.page(url, url)


@kind(found=0.9)
def rotating_products(site):
    """A block of other products in the middle of each article, drawn anew for each response, and
    printed copies `?print=1`."""
    copies(site, site.some(156, 100), ["{0}?print=1"], shop_block(site, 6, 40, 6), inside=True)
    teasers(site, 40)


@kind(found=0.9)
def rotating_promotions(site):
    """Articles with two promotions beside, which change with each response, at six URLs each."""
    templates = [f"{{0}}?{query}" for query in ("a=1", "a=2", "b=1", "b=2", "a=1&b=1", "a=2&b=2")]

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number).sample(range(30), 2)
            return "".join(f"<div><p>{site.words(f'promotion {n}', 25)}</p></div>" for n in drawn)

        return shown

    copies(site, site.some(156, 36), templates, noise)


@kind(found=0.9)
def rotating_links(site):
    """Three related articles beside each article, drawn anew for each response, and copies at
    `?from=feed`."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number).sample(range(200), 3)
            return "".join(
                f'<p><a href="/related/{n}">{site.words(f"related {n}", 9)}</a></p>' for n in drawn
            )

        return shown

    copies(site, site.some(150, 70), ["{0}?from=feed"], noise)
    site.otherwise = lambda url: (
        site.page(url, url, add=False) if url.removeprefix("/related/").isdigit() else None
    )
    site.index("/all-related/", [f"/related/{number}" for number in range(200)])
    site.pages[site.start] = site.pages[site.start]._replace(links=("/all-related/",))


@kind(found=0.9)
def rotating_among_many(site):
    """Recipes of many small parts (a table, lists, labels), beside them the recipe of the day with
    a list of links, drawn anew for each response; copies at `?view=print` and `?per=12`."""

    def recipe(url: str, each: str) -> Changing:
        cells = [f"<td>{site.words(f'{url} {n}', 1)}</td>" for n in range(21)]
        rows = "".join(f"<tr>{''.join(cells[at : at + 3])}</tr>" for at in range(0, 21, 3))
        labels = "".join(f'<p class="{n}">{site.words(f"{url} {n}", 1)}</p>' for n in "abc")
        own = f"<h1>{site.words(url, 3)}</h1>{labels}<table>{rows}</table>{site.prose(url)}"

        def shown(number: int) -> str:
            drawn = chance(site, each, number).sample(range(200), 6)
            links = "".join(f'<li><a href="/">{site.words(f"r {n}", 4)}</a></li>' for n in drawn)
            day = f"<h4>Today</h4><p>{site.words(f'day {drawn[0]}', 25)}</p>"
            return f'{own}<div class="day">{day}<ul>{links}</ul></div>'

        return shown

    urls = [f"/recipe/{number}" for number in range(site.some(120, 80))]
    for url in urls:
        others = [f"{url}?view=print", f"{url}?per=12"]
        for each in (url, *others):
            text, title = recipe(url, each), site.words(url, 3)
            links = others if each == url else ()
            site.page(each, url, text=text, title=title, links=links)
    site.index("/", site.indexes(urls))


@kind(found=0.8)
def rotating_among_labels(site):
    """Articles with twenty labels, each at a DOM path of its own, and beside them four teasers,
    drawn anew for each response; copies at `?print=1` and `?m=1`."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number).sample(range(1000), 4)
            teasers = "".join(f"<div><p>{site.words(f'teaser {n}', 12)}</p></div>" for n in drawn)
            return f"{site.labels(url.partition('?')[0])}{teasers}"

        return shown

    copies(site, site.some(120, 80), ["{0}?print=1", "{0}?m=1"], noise, inside=True)


@kind(found=0.9, saved=0.3)
def clocks_and_counters(site):
    """Short articles with the time, a counter of visitors, and how long the page took; each at two
    more URLs."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number)
            return (
                f"<p>It is {drawn.randrange(24)}:{drawn.randrange(60):02}</p>"
                f"<p>You are visitor {drawn.randrange(10**6)}</p>"
                f"<p>Page generated in {drawn.random():.4f} s, {drawn.randrange(40)} queries</p>"
            )

        return shown

    copies(site, site.some(120, 60), ["{0}?x=1", "{0}?x=2"], noise)


@kind()
def slow_clocks(site):
    """Short pages with the time, each at two more URLs. Of half of them the clock has ticked when
    the last URL is requested, or a URL once more."""

    def clock(*, ticks: bool, is_last: bool) -> Changing:
        return lambda number: f"<p>It is 10:0{3 + (ticks and (is_last or number > 1))}</p>"

    count = site.some(120, 60)
    urls = [f"/tree/{number}" for number in range(count)]
    for number, url in enumerate(urls):
        text, title = f"<p>{site.words(url, 12)}</p>", site.words(url, 2)
        others = [f"{url}?h=a", f"{url}?h=b"]
        for each in (url, *others):
            time = clock(ticks=2 * number >= count, is_last=each == others[1])
            links = others if each == url else ()
            site.page(each, url, text=text, title=title, beside=time, links=links)
    site.index("/", site.indexes(urls))


@kind(found=0.9, settings={"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": "FOLDER/cache"})
def clocks_behind_a_cache(site):
    """Articles with the time and a copy each, crawled with Scrapy's cache of responses, which
    would answer a second request by the first response."""

    def noise(url: str) -> Changing:
        return lambda number: f"<p>{site.words(f'{url} {number} time', 30)}</p>"

    copies(site, site.some(120, 70), ["{0}?x=1"], noise)


@kind(found=0.9, saved=0.3)
def adverts(site):
    """An advert in the middle of each article, one of 300 texts with a picture, and copies at two
    more URLs."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number).randrange(300)
            return (
                f'<div class="x1"><a href="http://ads.invalid/{drawn % 12}">'
                f'<img src="/ads/{drawn}.png"></a>'
                f"<p>{site.words(f'advert {drawn}', 22)}</p></div>"
            )

        return shown

    copies(site, site.some(120, 60), ["{0}?ch=a", "{0}?ch=b"], noise, inside=True)


@kind(found=0.9, saved=0.3)
def tokens_in_forms(site):
    """Forms with a token in a hidden field, in the addresses of pictures, and as text, with each
    response; copies at `?ref=`."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            token = f"{chance(site, url, number).getrandbits(128):032x}"
            return (
                f'<form><input type="hidden" name="csrf" value="{token}">'
                f"<p>Request {token[:12]}</p>"
                f'<img src="/pixel.gif?{token}"></form>'
            )

        return shown

    copies(site, site.some(120, 70), ["{0}?ref=home"], noise)


@kind()
def templates_by_turns(site):
    """Each response comes in one of two templates (an A/B test): other elements, another slogan of
    30 words; copies at two more URLs."""
    urls = []
    for number in range(site.some(120, 60)):
        url = f"/article/{number}"
        others = [f"{url}?p={n}" for n in (1, 2)]
        for each in (url, *others):
            paragraphs = site.prose(url)

            def shown(number: int, each=each, url=url, paragraphs=paragraphs) -> str:
                is_new = chance(site, each, number).random() < 0.5
                heading = f"<h1>{site.words(url, 3)}</h1>"
                slogan = site.words(f"slogan {is_new}", 30)
                if is_new:
                    section = paragraphs.replace("<p>", "<div class=t><span>").replace(
                        "</p>", "</span></div>"
                    )
                    return f"{heading}<section>{section}</section><div><b>{slogan}</b></div>"
                return f"<p>{slogan}</p>{heading}{paragraphs}"

            site.page(
                each,
                url,
                text=shown,
                title=site.words(url, 3),
                links=others if each == url else (),
            )
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind(found=0.5)
def counters_in_many_folders(site):
    """A code browser: six folders of short files, each file in three branches `?h=`, and a counter
    on every page. A crawl has no budget to learn in each folder what changes."""
    folders = [site.words(f"folder {number}", 1).lower() for number in range(6)]
    links = []
    for folder in folders:
        for number in range(site.some(20, 10)):
            url = f"/tree/{folder}/{site.words(f'{folder} {number}', 1).lower()}{number}"
            text = site.prose(url, 25)
            branches = [url, f"{url}?h=next", f"{url}?h=old"]
            for each in branches:
                site.page(each, url, text=text, beside=_visits(site, each), links=branches)
            links.append(url)
    for number in range(4):  # what else the site has spends the budget
        others = [f"/{site.words(f'section {number}', 1).lower()}/{n}" for n in range(10)]
        for url in others:
            site.page(url, url)
        links = [*others, *links]
    site.index("/", site.indexes(links))


def _visits(site: KnownSite, url: str) -> Changing:
    def shown(number: int) -> str:
        drawn = chance(site, url, number)
        return f"<p>Seen {drawn.randint(1000, 9999)} times, {drawn.randint(10, 99)} today</p>"

    return shown


@kind()
def changing_in_one_section(site):
    """In `/shop/` a paragraph changes with each response; in `/notes/` the paragraph at the same
    place is all that the page says; in `/notes/` all have one title."""

    def noise(url: str) -> Changing:
        return lambda number: f"<p>{site.prose(f'{url} {number}', 60)}</p>"

    shop = [f"/shop/{number}" for number in range(site.some(100, 50))]
    for url in shop:
        site.page(url, url, text=_alone(site, url, noise(url)), title=site.words(url, 3))
    notes = [f"/notes/{number}" for number in range(site.some(100, 50))]
    for url in notes:
        text = f"<h1>Note</h1><p>{site.prose(url, 60)}</p>"
        site.page(url, url, text=lambda _, text=text: text, title="Note")
    site.index("/shop/", shop)
    site.index("/notes/", notes)
    site.index("/", ["/shop/", "/notes/"])


@kind()
def changing_everywhere_but_here(site):
    """In twelve folders a paragraph changes with each response; in a folder for each note the
    paragraph at the same place is all that the page says, under one title and one name."""

    def noise(url: str) -> Changing:
        return lambda number: f"<p>{site.prose(f'{url} {number}', 20)}</p>"

    urls = []
    for folder in range(12):
        for number in range(site.some(12, 6)):
            url = f"/{site.words(f'shop {folder}', 1).lower()}{folder}x/{number}"
            site.page(url, url, text=_alone(site, url, noise(url)), title=site.words(url, 3))
            urls.append(url)
    for number in range(site.some(100, 50)):
        url = f"/notes/{site.words(f'note {number}', 1).lower()}{number}x/view.html"
        text = f"<h1>Note</h1><p>{site.prose(url, 20)}</p><section>{site.prose('notes')}</section>"
        site.page(url, url, text=lambda _, text=text: text, title="Note")
        urls.append(url)
    site.index("/", site.indexes(urls))


def _alone(site: KnownSite, url: str, noise: Changing) -> Changing:
    heading = f"<h1>{site.words(url, 3)}</h1>"
    own = f"<section>{site.prose(url)}</section>"
    return lambda number: f"{heading}{noise(number)}{own}"


@kind(found=0.45)
def late_adverts(site):
    """Articles with a copy each; halfway through the crawl the pages begin to have an advert
    beside."""

    def noise(url: str) -> Changing:
        def shown(number: int) -> str:
            drawn = chance(site, url, number).randrange(300)
            return f"<div><p>{site.words(f'advert {drawn}', 30)}</p></div>"

        return shown

    urls = []
    count = site.some(160, 90)
    for number in range(count):
        url = f"/article/{number}"
        for each in (url, f"{url}?c=1"):
            beside = noise(each) if number >= count // 2 else ""
            site.page(each, url, beside=beside, links=[f"{url}?c=1"] if each == url else ())
        urls.append(url)
    site.index("/", site.chain(urls))
