"""Worlds crawled by real Scrapy, over HTTP on this machine; what reaches the callback counts.

A server on 127.0.0.1 answers for all host names of a world as their proxy. Each page links to all
pages of its own content and of two others (by `<link rel="related">`, which adds no text), a
binary tree of contents that the spider follows from the world's first page: breadth first, depth
first, or in an order of chance. So a content that is lost withholds those below it, as on any
site, and one that is delivered leads to all that it would lead to in a crawl without a filter.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from html import escape

import crawling
from crawling import BREADTH_FIRST, PLUGIN, Crawl, Dropping, Job
from made.families import FAMILIES
from made.judging import Tally, tally
from made.world import Page, World

NONE, ORACLE = "none", "oracle"
"""Filters beside the presets: none at all, and one that knows the truth."""


def orders(count: int) -> list[str]:
    return ["breadth", "depth", *(f"random {n}" for n in range(1, count - 1))][:count]


def answers(pages: Sequence[Page]) -> dict[str, str]:
    groups: dict[Hashable, list[str]] = {}
    for page in pages:
        groups.setdefault(page.content, []).append(page.url)
    tree, numbers = list(groups.values()), {content: n for n, content in enumerate(groups)}

    def answer(page: Page) -> str:
        at = numbers[page.content]
        targets = [url for urls in (tree[at], *tree[2 * at + 1 : 2 * at + 3]) for url in urls]
        links = "".join(f'<link rel="related" href="{escape(url)}">' for url in targets)
        return page.html.replace("</head>", f'<meta name="shows" content="{at}">{links}</head>')

    return {page.url: answer(page) for page in pages}


class Oracle(Dropping):
    """Drops what shows a content that was delivered before."""

    def known(self, response: object) -> object:
        return re.search(r'<meta name="shows" content="(\d+)">', response.text)[1]


def settings_of(filtered: str, order: str) -> dict[str, object]:
    settings: dict[str, object] = dict(BREADTH_FIRST) if order == "breadth" else {}
    if filtered == ORACLE:
        return settings | {"SPIDER_MIDDLEWARES": {Oracle: 60}}
    return settings | ({} if filtered == NONE else PLUGIN | {"NEARDUP_PRESET": filtered})


def crawl(names: Sequence[str], *, filtered: str, order: str, seed: int) -> dict[str, Tally]:
    """Crawl a world of each family, one after the other, and return what was counted.

    Once in a process, as it starts Scrapy's reactor. `filtered` is `NONE`, `ORACLE` or a preset,
    `order` one of `orders`.
    """
    settings = settings_of(filtered, order)
    worlds = {name: FAMILIES[name].world(seed) for name in names}

    def jobs() -> Iterator[Job]:
        for name, world in worlds.items():
            pages = answers(world.pages)

            def answer(url: str, pages: dict[str, str] = pages) -> tuple[int, str]:
                return (200, pages[url]) if url in pages else (404, "")

            with crawling.served(answer) as server:
                yield Job(name, world.pages[0].url, settings, order, server.url, ("link",))
                assert set(server.served) <= set(pages), f"{name}: a link leads nowhere"
                assert set(server.served.values()) == {1}, f"{name}: a page was fetched twice"

    return {done.name: counted(worlds[done.name], done) for done in crawling.crawl(jobs())}


def counted(world: World, done: Crawl) -> Tally:
    """Return the tally of a crawl whose counts are right: every page is counted once."""
    stats, records = done.stats, done.records
    assert done.finished, world.name
    assert not stats.get("log_count/ERROR"), world.name
    assert len(records) == stats["downloader/response_count"], world.name
    dropped = {record.url: record.verdict for record in records if record.dropped}
    assert all(record.called is not record.dropped for record in records), world.name
    if "neardup/pages/checked" in stats:
        assert stats.get("neardup/pages/dropped", 0) == len(dropped), world.name
    return tally(world.pages, dropped, {record.url for record in records})
