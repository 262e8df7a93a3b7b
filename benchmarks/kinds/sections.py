"""Sites of which one part contradicts the other."""

from kinds.site import HOST, KnownSite, kind

OTHER = "http://other.example"
WITH_WWW = "http://www.site.example"


def variants(site: KnownSite, folder: str, count: int, query: str, every: int) -> list[str]:
    """Add pages, each at another URL too, which is a text of its own on one page of `every`, or
    never (0)."""
    urls = []
    for number in range(count):
        url = f"{folder}/{site.words(f'{folder} {number}', 1).lower()}{number}"
        other = f"{url}?{query}"
        site.page(url, url, links=[other])
        site.page(other, other if every and number % every == every - 1 else url)
        urls.append(url)
    return urls


@kind(found=0.9)
def two_sections(site):
    """In `/blog/` `?v=2` has no effect, in `/docs/` it is another text on each page."""
    blog = variants(site, "/blog", site.some(120, 60), "v=2", 0)
    docs = variants(site, "/docs", site.some(120, 50), "v=2", 1)
    site.index("/", [*site.indexes(blog, name="posts"), *site.indexes(docs, name="manual")])


@kind(found=0.9)
def sections_below(site):
    """All pages stand under `/site/`; in `/site/blog/` `?v=2` has no effect, in `/site/docs/` it
    is another text on one page of nine."""
    blog = variants(site, "/site/blog", site.some(120, 60), "v=2", 0)
    docs = variants(site, "/site/docs", site.some(120, 60), "v=2", 9)
    both = [url for pair in zip(blog, docs, strict=True) for url in pair]
    site.index("/", site.indexes(both))


@kind(found=0.9)
def two_hosts(site):
    """One host ignores `?lang=de`, on the other one it is a translation of each page."""
    one = variants(site, "/pages", site.some(100, 50), "lang=de", 0)
    two = variants(site, f"{OTHER}/pages", site.some(100, 50), "lang=de", 1)
    mixed = [url for pair in zip(one, two, strict=True) for url in pair]
    site.index("/", site.indexes(mixed))


@kind(found=0.9)
def mirror_host(site):
    """Another host mirrors the first one, and has a page more for each eight."""
    urls = [f"/pages/{site.words(f'page {n}', 1).lower()}{n}" for n in range(site.some(150, 80))]
    for url in urls:
        site.page(url, url)
        site.page(f"{OTHER}{url}", url)
    more = [f"{OTHER}/pages/more-{number}" for number in range(len(urls) // 8)]
    for url in more:
        site.page(url, url)
    site.index(f"{OTHER}/", [*(f"{OTHER}{url}" for url in urls), *more])
    site.index("/", [*site.indexes(urls), f"{OTHER}/"])


@kind(found=0.9)
def with_and_without_www(site):
    """`www.` has no effect: each page links to others with it and without. Half of the copies are
    originals to a claim, which are requested, and of the rest 60 test it."""
    count = site.some(200, 110)
    for number in range(count):
        near = [(2 * number + 1) % count, (2 * number + 2) % count]
        links = [f"{host}/page/{n}" for n in near for host in (HOST, WITH_WWW)]
        for host in (HOST, WITH_WWW):
            site.page(f"{host}/page/{number}", f"page {number}", links=links)
    site.index("/", ["/page/0", "/page/1"])


@kind()
def scripts_of_one_form(site):
    """`/read.php?id=`, `/print.php?id=`, `/send.php?id=` and `/news.php?id=`: the first and the
    last are texts, the second the first's copy, the third one form."""
    urls = []
    for number in range(site.some(100, 45)):
        read, news = f"/read.php?id={number}", f"/news.php?id={number}"
        copy, send = f"/print.php?id={number}", f"/send.php?id={number}"
        site.page(read, read, links=[copy, send, news])
        site.page(copy, read)
        site.page(send, "send", title="Send")
        site.page(news, news)
        urls.append(read)
    site.index("/", site.indexes(urls))
