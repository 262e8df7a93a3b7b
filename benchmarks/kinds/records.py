"""Pages of one form that differ in little, or in what isn't text."""

from collections.abc import Callable
from random import Random

from kinds.site import HOST, KnownPage, KnownSite, kind


@kind()
def photos(site):
    """Photographs, `/photo?id=`, each with a title of its own and the same words below it."""
    urls = []
    for number in range(site.some(160, 80)):
        url = f"/photo?id={number}"
        text = f'<img src="/images/{number}.jpg">{site.prose("licence", 60)}'
        site.page(url, url, text=text, title=site.words(url, 2))
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def short_texts(site):
    """Terms of a glossary, twelve words each, under `?term=`, with titles."""
    urls = []
    for number in range(site.some(240, 120)):
        url = f"/glossary?term={site.words(f'term {number}', 1).lower()}{number}"
        site.page(url, url, text=site.prose(url, 12), title=site.words(url, 1))
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def one_title(site):
    """Documents of an archive, all of them titled 'Document', half of whose text is the
    archive's."""
    urls = [
        f"/document.aspx?id={site.chance.getrandbits(64):016X}" for _ in range(site.some(200, 100))
    ]
    for url in urls:
        text = site.prose(url, 70) + site.prose("archive", 70)
        site.page(url, url, text=text, title="Document")
    site.index("/", site.indexes(urls))


@kind()
def families_among_labels(site):
    """Goods in families of eight that differ in the price alone, met one of each family after the
    other; each page has twenty labels, each at a DOM path of its own."""
    families, urls = site.some(24, 14), [f"/about/{number}" for number in range(20)]
    for url in urls:
        site.page(url, url, text=site.labels("labels") + site.prose(url))
    for number in range(8 * families):
        url, family = f"/item/{number}", f"family {number % families}"
        price = f"<p>{100 + 7 * number} Euro</p>"
        text = f"{site.labels('labels')}{price}{site.prose(family, 200)}"
        site.page(url, url, text=text, title=site.words(family, 3))
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def variants(site):
    """Goods of a shop, each also in two collections, with six variants under `?variant=`, which
    differ in the picture and the price."""
    urls = []
    for number in range(site.some(24, 12)):
        name, title = f"goods {number}", site.words(f"goods {number}", 3)
        picture, price, prose = '<img src="/{}.jpg">', "<p>{} Euro</p>", site.prose(name, 180)
        path = f"/products/{title.lower().replace(' ', '-')}"
        shown = [f"{path}?variant={100 * number + variant}" for variant in range(6)]
        text = picture.format(number) + price.format(90 + number) + prose
        for folder in ("/collections/sale", "/collections/new", ""):
            site.page(folder + path, name, text=text, title=title, links=shown)
            urls.append(folder + path)
        for variant, url in enumerate(shown):
            text = picture.format(f"{number}-{variant}") + price.format(200 + variant) + prose
            site.page(url, f"{name} {variant}", text=text, title=title)
    site.index("/", site.indexes(urls))


# Crawled again

AGAIN = {"crawls": 2, "is_audited": True, "settings": {"NEARDUP_SEEN": "drop"}}


@kind(found=0.85, **AGAIN)
def crawled_again(site):
    """Articles with three links that rotate beside; in the second crawl one of ten has a text of
    its own, the others must be withheld as unchanged."""
    again(site, lambda url: (site.prose(f"{url} {site.crawl}"), site.words(url, 3)), links=3)


@kind(found=0.85, **AGAIN)
def small_changes(site):
    """The same, but of the changed pages only a price, a word or the title has changed."""
    again(site, lambda url: _small_change(site, url), links=3)


@kind(found=0.95, **AGAIN)
def small_changes_alone(site):
    """The same small changes, and nothing that rotates."""
    again(site, lambda url: _small_change(site, url), links=0)


def _small_change(site: KnownSite, url: str) -> tuple[str, str]:
    which = int(url.rpartition("/")[2]) // 10 % 3
    price, word, title = (site.crawl if which == each else 1 for each in range(3))
    said = site.words(f"{url} word {word}", 1)
    text = f"<p>{479 + 20 * price} Euro</p>{site.prose(url)}<p>{said}</p>"
    return text, site.words(f"{url} title {title}", 3)


def again(site: KnownSite, changing: Callable[[str], tuple[str, str]], *, links: int) -> None:
    """Add articles; `changing` returns text and title of those that differ between crawls."""
    urls = [f"/article/{number}" for number in range(site.some(120, 80))]

    def article(url: str, *, changes: bool) -> Callable[[int], KnownPage]:
        def shown(asked: int) -> KnownPage:
            text, title = changing(url) if changes else (site.prose(url), site.words(url, 3))
            content = f"{url} {site.crawl}" if changes else url
            drawn = Random(f"{site.seed} {url} {asked} {site.crawl}").sample(urls, links)
            beside = "".join(
                f'<p><a href="{other}">{site.words(f"{other} link", 9)}</a></p>' for other in drawn
            )
            return site.page(url, content, text=text, title=title, beside=beside, add=False)

        return shown

    for number, url in enumerate(urls):
        site.pages[f"{HOST}{url}"] = article(url, changes=number % 10 == 3)
    site.index("/", urls)
