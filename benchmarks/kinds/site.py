"""Made-up sites whose truth is known: what each URL shows, and how its page is written.

A site is a table of pages by URL, and perhaps a function that answers all other URLs. It is asked
for a URL and the number of the request for it (1, 2, …), and answers with a page, always the same
for the same question. All texts are drawn from generators that the kind's name, the seed and the
content's name set, so two contents have nothing in common but words of one vocabulary.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from random import Random
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url

HOST = "http://site.example"
STYLES = ("tags", "plain")
"""How a site dresses its pages: with HTML's own elements, or with divisions that say nothing."""

ALWAYS, UNLESS_SKIPPING, NEVER = "always", "unless skipping", "never"

ENOUGH_URLS = 20_000
"""Maximum number of URLs of a site that a walk visits."""

_CONSONANTS = "bcdfghlmnprstv"
WORDS = [f"{a}{v}{b}{w}" for a in _CONSONANTS for v in "aeiou" for b in "lnrst" for w in "aeo"]
_HREF = re.compile(r'<a [^>]*?href="([^"#]*)')

Changing = Callable[[int], str]
"""The number of a request for a URL -> HTML that the page shows this time."""


class KnownPage(NamedTuple):
    """What a URL shows."""

    content: str
    """The name of what it shows, which pages at other URLs may show too; ``""``: nothing that
    anybody wants, such as a list of what is listed elsewhere."""
    main: str | Changing
    """HTML of the page's own part."""
    title: str
    beside: str | Changing = ""
    """HTML between the page's own part and the footer."""
    links: Sequence[str] = ()
    """URLs in the navigation below the text."""
    status: int = 200
    to: str = ""
    """Where a redirect leads."""


class Reply(NamedTuple):
    """The response to one request."""

    page: KnownPage
    html: str


@dataclass(frozen=True, slots=True)
class SiteKind:
    """A kind of site, and what a crawl of it has to reach."""

    name: str
    says: str
    fill: Callable[[KnownSite], None]
    must_keep_all: str = ALWAYS
    """When each content has to be delivered; else some are so rare that checks may miss them."""
    found: float = 0.0
    """The share of the fetched repetitions that must have been dropped."""
    saved: float = 0.0
    """The share of the needless requests that must not have been made with ``"skip"``; half of it
    at quick size, and nothing on sites that have no more than the tests of a claim; 0: it isn't
    asked."""
    endless: bool = False
    """Whether a crawl without the plugin doesn't end."""
    settings: tuple[tuple[str, object], ...] = ()
    """Settings of all its crawls."""
    is_audited: bool = False
    """Whether the rules that the command finds in the crawl's audit are checked too."""
    crawls: int = 1
    """Number of crawls, one after the other with the same store. The last one counts, and wanted
    is what it shows for the first time."""


KINDS: dict[str, SiteKind] = {}
"""Every kind by its name."""


def kind(**properties: object) -> Callable[[Callable[[KnownSite], None]], SiteKind]:
    """Register a function that fills a site as a kind; its docstring says what the site is."""
    settings = tuple(properties.pop("settings", {}).items())

    def register(fill: Callable[[KnownSite], None]) -> SiteKind:
        name = fill.__name__.rstrip("_").replace("_", "-")
        says = " ".join((fill.__doc__ or "").split())
        assert name not in KINDS
        KINDS[name] = SiteKind(name, says, fill, settings=settings, **properties)
        return KINDS[name]

    return register


def chance(site: KnownSite, *about: object) -> Random:
    """Return a generator that depends on the site and `about` alone."""
    return Random(f"{site.seed} {about}")


@cache
def _words(seed: str, count: int) -> str:
    return " ".join(Random(seed).choices(WORDS, k=count)).title()


class KnownSite:
    """One site of a kind, drawn from a seed, at full or at quick size."""

    def __init__(self, kind: SiteKind, seed: int = 0, *, quick: bool = False) -> None:
        self.kind = kind
        self.seed = f"{kind.name} {seed}"
        self.chance = Random(self.seed)
        self.style = STYLES[seed % len(STYLES)]
        self.quick = quick
        self.crawl = 1
        """The number of the crawl that the site answers, where there are several."""
        self.pages: dict[str, KnownPage | Callable[[int], KnownPage]] = {}
        """What each URL shows; a function says what the n-th request for it shows."""
        self.otherwise: Callable[[str], KnownPage | None] = lambda _: None
        """Answers URLs that aren't in `pages`, by their path and query (on a second host by the
        whole URL)."""
        self.start = f"{HOST}/"
        self.ends_after = 0
        """Number of responses after which a crawl is ended; 0: never."""
        kind.fill(self)

    # What fills a site

    def some(self, full: int, quick: int) -> int:
        """Return a number of pages for the site's size."""
        return quick if self.quick else full

    def prose(self, name: str, words: int = 0) -> str:
        """Return paragraphs that are all of one content's own."""
        chance = Random(f"{self.seed} {name}")
        drawn = chance.choices(WORDS, k=words or chance.randint(70, 180))
        return "".join(
            f"<p>{' '.join(drawn[at : at + 40])}.</p>" for at in range(0, len(drawn), 40)
        )

    def words(self, name: str, count: int) -> str:
        """Return some words without markup, in capitals, for titles and cells."""
        return _words(f"{self.seed} words {name}", count)

    def labels(self, name: str, count: int = 20) -> str:
        """Return texts of one or two words, each at a DOM path of its own."""
        return "".join(
            f"{'<div>' * depth}<p>{self.words(f'{name} {depth}', 1 + depth % 2)}</p>"
            f"{'</div>' * depth}"
            for depth in range(2, count + 2)
        )

    def page(
        self, url: str, content: str, *, text: str | Changing | None = None, title: str = "",
        links: Sequence[str] = (), beside: str | Changing = "", add: bool = True,
    ) -> KnownPage:  # fmt: skip
        """Add a page (unless `add` is False) and return it.

        Its text and title are the content's own unless they are given; `links` are resolved
        against `url`.
        """
        title = title or self.words(content, 3)
        text = self.prose(content) if text is None else text
        if isinstance(text, str):
            text = f"<h1>{escape(title)}</h1>{text}"
        made = KnownPage(content, text, title, beside, tuple(links))
        if add:
            where = urljoin(HOST, url)
            assert where not in self.pages, where
            self.pages[where] = made
        return made

    def index(self, url: str, listed: Iterable[str], *, links: Sequence[str] = ()) -> None:
        """Add a page that lists others, and has some in its navigation, with a text of its own."""
        content = f"index {url}"
        anchors = "".join(
            f'<li><a href="{escape(other)}">{self.words(other, 2)}</a></li>' for other in listed
        )
        text = f"{self.prose(f'index {url}', 60)}<ul>{anchors}</ul>"
        self.page(url, content, text=text, title=self.words(url, 3), links=links)

    def indexes(self, listed: Sequence[str], size: int = 40, name: str = "list") -> list[str]:
        """Add pages that list others in parts, and return their URLs."""
        parts = [listed[at : at + size] for at in range(0, len(listed), size)]
        urls = [f"/{name}/{number}/" for number in range(len(parts))]
        for url, part in zip(urls, parts, strict=True):
            self.index(url, part)
        return urls

    def chain(self, listed: Sequence[str], size: int = 20) -> list[str]:
        """Add pages that list others in parts, each of which links to the next; return the
        first."""
        parts = [listed[at : at + size] for at in range(0, len(listed), size)]
        for number, part in enumerate(parts):
            following = [f"/part/{number + 1}/"] if number + 1 < len(parts) else []
            self.index(f"/part/{number}/", part, links=following)
        return ["/part/0/"]

    # What answers

    def answer(self, url: str, number: int = 1) -> Reply | None:
        """Return the page that a URL shows at its n-th request; None: there is none."""
        page = self.pages.get(url)
        if page is None:
            page = self.otherwise(url.removeprefix(HOST))
        elif not isinstance(page, KnownPage):
            page = page(number)
        return None if page is None else Reply(page, self._html(page, number))

    def _html(self, page: KnownPage, number: int) -> str:
        main, beside = (
            part if isinstance(part, str) else part(number) for part in (page.main, page.beside)
        )
        title = escape(page.title)
        menu = " ".join(f'<a href="/">{word}</a>' for word in WORDS[:12])
        links = "".join(f'<li><a href="{escape(url)}">more</a></li>' for url in page.links)
        links = f"<ul>{links}</ul>" if links else ""
        footer = f"{' '.join(WORDS[40:60])}"
        if self.style == "tags":
            body = (
                f"<nav>{menu}</nav><main>{main}</main>"
                f'<div class="side">{beside}</div><nav>{links}</nav>'
                f"<footer>{footer}</footer>"
            )
        else:
            body = (
                f'<div class="a">{menu}</div><div class="b">{main}</div>'
                f'<div class="c">{beside}</div><div class="d">{links}</div>'
                f'<div class="e">{footer}</div>'
            )
        return (
            f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>"
        )


@dataclass
class Walk:
    """What a crawler meets that follows every link and drops nothing."""

    requests: int = 0
    contents: set[str] = field(default_factory=set)
    ended: bool = True
    """Whether there was an end to it."""


def walk(site: KnownSite, deny: Sequence[re.Pattern[str]] = (), most: int = ENOUGH_URLS) -> Walk:
    """Visit a site breadth first, without the URLs in which one of `deny` is found."""
    found = Walk()
    waiting = deque([site.start])
    known = {canonicalize_url(site.start)}
    while waiting:
        if found.requests == most:
            found.ended = False
            break
        url = waiting.popleft()
        found.requests += 1
        if (answer := site.answer(url)) is None:
            continue
        links = [answer.page.to] if answer.page.to else hrefs(url, answer.html)
        if answer.page.status == 200 and not answer.page.to:
            found.contents |= {answer.page.content} - {""}
        for link in links:
            if (key := canonicalize_url(link)) not in known:
                known.add(key)
                if not any(pattern.search(link) for pattern in deny):
                    waiting.append(link)
    return found


def hrefs(url: str, html: str) -> Iterator[str]:
    """Yield the URLs to which a page links."""
    for href in _HREF.findall(html):
        link = urljoin(url, unescape(href))
        if urlsplit(link).scheme == "http":
            yield link


class Asked:
    """A site as a server asks it: it counts the requests for each URL, and notes what was
    shown."""

    def __init__(self, site: KnownSite) -> None:
        self.site = site
        self.shown: list[tuple[str, str]] = []
        """Each request's URL, and the content that was shown."""
        self._numbers: Counter[str] = Counter()

    def __call__(self, url: str) -> tuple[object, ...]:
        url = url if urlsplit(url).path else f"{url}/"
        self._numbers[url] += 1
        answer = self.site.answer(url, self._numbers[url])
        if answer is None:
            self.shown.append((url, ""))
            return 404, "<!DOCTYPE html><html><body><p>There is no such page.</p></body></html>"
        page = answer.page
        self.shown.append((url, page.content))
        if page.to:
            return 302, "", ("Location", page.to)
        return page.status, answer.html, ("X-Shown", page.content)
