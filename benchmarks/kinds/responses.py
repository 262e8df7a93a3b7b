"""URLs whose second response is another page, so that asking twice tells little of the first."""

from kinds.site import HOST, KnownPage, KnownSite, chance, kind


@kind()
def live_among_finished(site):
    """Reports under `/match/N`: one of four changes wholly with each response, as it is live; on
    the others it stands at the same place and is all that they have, but for a title."""
    reports(site, "Match {}", 4)


@kind()
def live_under_one_title(site):
    """The same, all under one title; one of three is live."""
    reports(site, "Match report", 3)


def reports(site: KnownSite, title: str, every: int) -> None:
    urls = [f"/match/{number}" for number in range(site.some(200, 100))]
    for number, url in enumerate(urls):
        named = title.format(number)

        def live(asked: int, url: str = url, named: str = named) -> str:
            return f"<h1>{named}</h1>{site.prose(f'{url} minute {asked}', 120)}"

        text = live if number % every == 1 else site.prose(url, 120)
        site.page(url, url, text=text, title=named)
    site.index("/", site.indexes(urls))


@kind()
def metered(site):
    """A newspaper that shows each article once, and then an appeal to subscribe at the same place,
    under the article's title; the appeal's text changes with each response."""
    urls = []
    for number in range(site.some(160, 80)):
        url = f"/news/{number}"
        whole = site.page(url, url, add=False)

        def shown(asked: int, whole: KnownPage = whole, url: str = url) -> KnownPage:
            if asked == 1:
                return whole
            appeal = f"<h1>{whole.title}</h1>{site.prose(f'appeal {url} {asked}', 60)}"
            return whole._replace(content="", main=appeal)

        site.pages[f"{HOST}{url}"] = shown
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def once(site):
    """Links that work once: the second request for an invitation is answered by 410."""
    urls = [f"/invitation/{site.chance.getrandbits(64):016x}" for _ in range(site.some(160, 80))]
    for url in urls:
        whole = site.page(url, url, add=False)

        def shown(asked: int, whole: KnownPage = whole) -> KnownPage:
            return (
                whole
                if asked == 1
                else whole._replace(content="", main="<p>Gone.</p>", status=410)
            )

        site.pages[f"{HOST}{url}"] = shown
    site.index("/", site.indexes(urls))


@kind()
def busy_now_and_then(site):
    """One response of eight, at any URL, says that the server is busy, at the place where else the
    text of the page is."""
    urls = [f"/story/{number}" for number in range(site.some(200, 100))]
    busy = site.page("", "busy", title="Busy", add=False)
    for url in urls:
        whole = site.page(url, url, add=False)

        def shown(asked: int, url: str = url, whole: KnownPage = whole) -> KnownPage:
            return busy if chance(site, url, asked).random() < 1 / 8 else whole

        site.pages[f"{HOST}{url}"] = shown
    site.index("/", site.indexes(urls))


@kind()
def shuffled_rows(site):
    """Teams, under one title, as lists of names whose order changes with each response: all that a
    page says stands at places that change."""
    urls = [f"/team?id={number}" for number in range(site.some(150, 80))]
    for url in urls:
        names = [site.words(f"{url} {n}", 2) for n in range(18)]

        def shown(asked: int, url: str = url, names: list[str] = names) -> str:
            drawn = chance(site, url, asked).sample(names, len(names))
            return f"<h1>Team</h1><ul>{''.join(f'<li>{name}</li>' for name in drawn)}</ul>"

        site.page(url, url, text=shown, title="Team")
    site.index("/", site.indexes(urls))


@kind()
def quotes(site):
    """Prices of shares: one template, the name in title and heading, and numbers, all of which
    change with each response."""
    shares(site, "{}: share price")


@kind()
def quotes_under_one_title(site):
    """The same, but all pages have one title, and the name stands in a cell of the table."""
    shares(site, "Share price")


def shares(site: KnownSite, title: str) -> None:
    urls = []
    labels = [site.words(f"label {n}", 2) for n in range(14)]
    for number in range(site.some(150, 80)):
        name = site.words(f"share {number}", 2)
        url = f"/quote?symbol={name[:3].upper()}{number}"

        def shown(asked: int, url=url, name=name) -> str:
            drawn = chance(site, url, asked)
            rows = "".join(
                f"<tr><td>{label}</td><td>{drawn.randrange(10**5) / 100}</td></tr>"
                for label in labels
            )
            named = f"<tr><td>Name</td><td>{name}</td></tr>" if "{}" not in title else ""
            return f"<h1>{title.format(name)}</h1><table>{named}{rows}</table>"

        site.page(url, url, text=shown, title=title.format(name))
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def random_pages(site):
    """Each article links to `/random?n=`, which shows one of the articles, another one each
    time."""
    count = site.some(150, 80)
    urls = [f"/article/{number}" for number in range(count)]
    for number, url in enumerate(urls):
        site.page(url, url, links=[f"/random?n={number}"])
    for number in range(count):

        def shown(asked: int, number: int = number) -> KnownPage:
            at = chance(site, number, asked).randrange(count)
            return site.pages[f"{HOST}/article/{at}"]

        site.pages[f"{HOST}/random?n={number}"] = shown
    site.index("/", site.indexes(urls))
