"""Parts of paths: with an effect, without one, and with one on some pages."""

from kinds.effectless import articles
from kinds.site import kind


@kind(found=0.9, saved=0.3, is_audited=True)
def print_folder(site):
    """Each article at `/print/ARTICLE` too."""
    articles(site, site.some(170, 100), ["/print{0}"])


@kind()
def languages(site):
    """Pages in `/en/`, `/de/` and `/fr/`; a third of the German and a tenth of the French ones are
    translated, the others show the English text."""
    urls = []
    for number in range(site.some(120, 60)):
        name = site.words(f"page {number}", 2).replace(" ", "-").lower()
        each = {language: f"/{language}/{name}" for language in ("en", "de", "fr")}
        is_translated = {"en": True, "de": number % 3 == 1, "fr": number % 10 == 7}
        for language, url in each.items():
            content = url if is_translated[language] else each["en"]
            site.page(url, content, links=[other for other in each.values() if other != url])
        urls.append(each["en"])
    site.index("/", site.indexes(urls))


@kind(found=0.9)
def slashes_and_indexes(site):
    """`/x`, `/x/` and `/x/index.html` are one page, in all folders but one, where each is a text
    of its own."""
    urls = []
    for number in range(site.some(100, 48)):
        folder = "/odd" if number % 8 == 3 else "/docs"
        plain = f"{folder}/{site.words(f'page {number}', 1).lower()}{number}"
        each = [f"{plain}/", plain, f"{plain}/index.html"]
        for url in each:
            site.page(
                url, url if folder == "/odd" else plain, links=each if url == each[0] else ()
            )
        urls.append(each[0])
    site.index("/", site.indexes(urls))


@kind(found=0.9)
def capitals(site):
    """`/docs/Name` and `/docs/name` are one page; `/wiki/Name` and `/wiki/name` are two."""
    urls = []
    for number in range(site.some(160, 90)):
        folder = "/wiki" if number % 3 == 1 else "/docs"
        name = f"{site.words(f'page {number}', 1)}{number}"
        each = [f"{folder}/{name}", f"{folder}/{name.lower()}"]
        for url in each:
            content = url if folder == "/wiki" else each[1]
            site.page(url, content, links=each if url == each[0] else ())
        urls.append(each[0])
    site.index("/", site.indexes(urls))


@kind()
def numbers_in_paths(site):
    """Reports under `/YEAR/REGION/`: all years of eight regions have texts of their own, but of
    ten regions whose reports were never written, all show one text."""
    urls = []
    for region in range(18):
        for year in range(2010, site.some(2024, 2017)):
            url = f"/{year}/region-{region}/"
            site.page(url, url if region % 9 < 4 else "not written yet")
            urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def mirrored_folder(site):
    """`/mirror/x` shows what `/x` shows, but on one page of twelve, which was brought up to date
    in the mirror alone."""
    urls = []
    for number in range(site.some(240, 110)):
        url = f"/pages/{site.words(f'page {number}', 1).lower()}{number}.html"
        copy = f"/mirror{url}"
        site.page(url, url, links=[copy])
        site.page(copy, copy if number % 12 == 7 else url)
        urls.append(url)
    site.index("/", site.indexes(urls))
