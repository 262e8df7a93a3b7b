"""What this package does with URLs: redact them, name their site, tell pages apart.

And it removes a page's own address from its text, as soft 404s and parked domains often repeat it.

Pure functions on strings, without network: the list of public suffixes is the one that
tldextract carries.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tldextract import TLDExtract

Extent = Literal["server", "host", "domain"]


def redact(url: str) -> str:
    """Return `url` without user name and password.

    Used for every URL that is stored, logged or shown. A text that can't be parsed as a URL loses
    everything up to its last ``@``.
    """
    if "@" not in url:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2]
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def redact_store(uri: str) -> str:
    """Return a store's URI as it may be shown: no user, no password, no parameters.

    A ``/``, ``?`` or ``#`` of a password that isn't escaped ends what a URI's grammar takes for
    the authority. So what follows the scheme is shown only if none of these stands in front of
    an ``@`` and what is behind that looks like hosts and ports.
    """
    scheme, colon, rest = uri.partition(":")
    if rest.startswith("//"):
        secret, _, place = rest[2:].rpartition("@")
        place = re.split("[?#]", place, maxsplit=1)[0]
        hosts = place.partition("/")[0].split(",")
        if not set(secret) & set("/?#") and all(map(_HOST.fullmatch, hosts)):
            return f"{scheme}://{place}"
    elif scheme.lower() in {"memory", "sqlite"}:
        return uri
    elif "@" not in uri:
        return uri.partition("?")[0]
    return f"{scheme}:…" if colon and "@" not in scheme else "…"


_HOST = re.compile(r"(?:[A-Za-z0-9._~-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?")


def site(url: str | None, extent: Extent = "server") -> str:
    """Return the site of `url`, in lower case; ``""`` where there is none.

    Its extent is ``server``, host and port, without the usual port (what is learnt of pages is per
    server); ``host``, whatever the port; or ``domain``, the registered domain
    (``example.co.uk``), or else the host. Private suffixes count: ``alice.github.io`` and
    ``bob.github.io`` are two sites. User names, passwords and a dot at the end of the host don't.
    """
    try:
        return _site_of(urlsplit(url or ""), extent)
    except ValueError:
        return ""


def _site_of(parts: SplitResult, extent: Extent) -> str:
    try:
        return _site(parts.scheme, parts.netloc, extent)
    except ValueError:
        return ""


@lru_cache(maxsize=1024)
def _site(scheme: str, netloc: str, extent: Extent) -> str:
    parts = SplitResult(scheme, netloc, "", "", "")
    name, port = (parts.hostname or "").rstrip("."), parts.port
    if extent == "domain":
        return _suffixes()(name).top_domain_under_public_suffix or name
    if extent == "host" or port in {None, _USUAL_PORTS.get(scheme)}:
        return name
    return f"{name}:{port}"


def hash_of(text: str, size: int) -> int:
    """Return a digest of a text, of at most 8 bytes, not 0; 0 for no text."""
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=size).digest(), "little") or 1


class Address(NamedTuple):
    """The parts of a URL by which pages are told apart."""

    site: str
    """As `site` returns it for a server: ``//example.com:8080``; or ``""``."""
    folders: tuple[int, ...]
    """32-bit hashes of the folders that lead to the page, the site first; `MAX_DEPTH` below it at
    most."""
    path: int
    """64-bit hash of the site and the path."""
    name: int
    """16-bit hash of the last step of the path and the parameters, without those that name a
    session or a campaign."""
    query: int
    """16-bit hash of the parameters, in any order, without those that name a session, a campaign
    or an order; 0 for none."""

    @classmethod
    def of(cls, url: str | None, salt: str = "") -> Self:
        """Return the parts of `url`; without a site if it can't be parsed. O(length).

        With a secret `salt` nobody else can compute the hashes.
        """
        try:
            parts = urlsplit(url or "")
        except ValueError:
            return cls("", (0,), 0, 0, 0)
        server = f"//{name}" if (name := _site_of(parts, "server")) else ""
        path = parts.path[:_MAX_ADDRESS]
        if ";" in path or "(" in path:
            path = _SESSION_IN_PATH.sub("", path)
        last = path.rstrip("/").rpartition("/")[2] or server
        if last.count(".") > 1 and (page := _PAGE_NAME.fullmatch(last)):
            last = page[1] + page[3]
        query = _parameters(parts.query) if parts.query else []
        lasting = "&".join([part for part in query if not _ORDER.match(part)])
        return cls(
            server,
            _folders(salt, server, path.rpartition("/")[0]),
            hash_of(salt + server + path, 8) if server or path else 0,
            hash_of(f"{salt}{last}?{'&'.join(query)}", 2),
            hash_of(salt + lasting, 2) if lasting else 0,
        )


MAX_DEPTH = 8
"""Maximum number of steps of a path whose folders are told apart."""

_USUAL_PORTS = {"http": 80, "https": 443}

_MAX_ADDRESS = 2_000
"""Maximum characters of a path or query that are examined."""

_SESSION_IN_PATH = re.compile(r"(?i);jsessionid=[^/?#]*|/\(S\([a-z0-9]+\)\)(?=/|$)")

_LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu"
    " cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi"
    " ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks"
    " ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl"
    " nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl"
    " sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve"
    " vi vo wa wo xh yi yo za zh zu"
)
"""The codes of ISO 639-1."""

_CODE = rf"(\.(?:{_LANGUAGES.replace(' ', '|')})(?:[-_](?:[a-z]{{2}}|[a-z]{{4}}))?)"

_PAGE_NAME = re.compile(rf"(?i)(.+?){_CODE}?(\.x?html?){_CODE}?")
"""The last step of a path, with the language that it may name: ``intro.de.html``,
``intro.html.pt_BR``."""

_SESSION_NAME = re.compile(
    r"(?i)(?:cfid|cftoken|utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|_ga|_gl|token|nonce|_|rnd|rand"
    r"|cachebuster|cb|ts|timestamp)$"
)
"""Names of parameters that stand for a session or a campaign, or only defeat caches."""

_OFTEN_SESSION = re.compile(
    r"(?i)(?:.*sess(?:ion)?_?(?:id)?|(?:php|j|asp|web)?_?s(?:ess)?id|from|ref|referrer|referer"
    r"|source)$"
)
_NUMBER = re.compile(r"[\d.:/-]{1,10}$")
"""Names of parameters that stand for a session or a referrer unless their value is a number or a
date: ``sid`` may be a story, ``ref`` an article's number, ``from`` an offset or a day."""

_ORDER = re.compile(
    r"(?i)(?:sort|order|dir|desc|asc|(?:view|layout)(?!=\d))"
    r"(?:_?(?:by|order|dir|direction|type|mode|field|col|column|key))?(?:=|$)"
)
"""Names of parameters that stand for how a page shows its items; ``view=7`` shows another one."""

_PERHAPS_SESSION = re.compile(r"(?i)(?:s|\w*sid|zenid)$")
_RANDOM = re.compile(r"(?i)(?=.*\d)(?=.*[a-z])(?:[0-9a-f]{8,}|[0-9a-z-]{20,})$")
"""Names of parameters that stand for a session if their value looks like one: ``s`` may be a
search. Under other names, ``id`` or ``item``, a long key is a page's own."""


def _parameters(query: str) -> list[str]:
    """Return the parameters of a query in one order, without those of a session."""
    parts = [part for part in query[:_MAX_ADDRESS].split("&") if part]
    return sorted([part for part in parts if not _is_session(*part.partition("=")[::2])])


def _is_session(name: str, value: str) -> bool:
    return bool(
        _SESSION_NAME.match(name)
        or (_OFTEN_SESSION.match(name) and not _NUMBER.match(value))
        or (_PERHAPS_SESSION.match(name) and _RANDOM.match(value))
    )


@lru_cache(maxsize=512)
def _folders(salt: str, server: str, path: str) -> tuple[int, ...]:
    steps = path.split("/")[1 : 1 + MAX_DEPTH]
    folders = ["/".join([server, *steps[:depth]]) for depth in range(len(steps) + 1)]
    return tuple([hash_of(salt + folder, 4) if folder else 0 for folder in folders])


@cache
def _suffixes() -> TLDExtract:
    from tldextract import TLDExtract  # noqa: PLC0415  (a tenth of a second to import)

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


_KEY = re.compile(
    r"(?<![^\W_])(?:(?=(?:[-.]?\d){5})\d+(?:[-.]\d+)+|(?=(?:[a-z]*\d){3})[a-z\d]{4,40})"
    r"(?![^\W_])"
)
_DATE = re.compile(
    r"(?:19|20)\d\d(?:[-.](?:0?\d|1[0-2]))?(?:[-.](?:[0-2]?\d|3[01]))?"
    r"|[0-3]?\d[-.][0-3]?\d[-.](?:19|20)?\d\d"
)
_MAX_KEYS = 8


def shown_keys(url: str | None, text: str) -> tuple[str, ...]:
    """Return the keys in a URL's path and parameters that a text shows, too, in lower case.

    A key is a word of four characters or more, three of them digits, or some numbers that hyphens
    or points join, of five digits or more, but no date. ``/part?no=847-12345`` and ``Part no.
    847-12345``: a page that shows the key of its address says by it which page it is. O(length of
    the URL), with a key O(length of the text).
    """
    _, _, parts = _written(url or "")
    path = _SESSION_IN_PATH.sub("", parts.path[:_MAX_ADDRESS])
    words = _KEY.findall(" ".join((path, *_parameters(parts.query))).lower())
    keys = [word for word in dict.fromkeys(words) if not _DATE.fullmatch(word)][:_MAX_KEYS]
    text = text.lower() if keys else ""
    if not any(key in text for key in keys):
        return ()
    shown = set(_KEY.findall(text))
    return tuple([key for key in keys if key in shown])


def may_hold_address(url: str | None, *texts: str) -> bool:
    """Return whether one of the texts holds the host or the path of `url`. O(length)."""
    paths, host, _ = _written(url or "")
    return any(part in text for part in {host, *paths} - {""} for text in texts)


def without_address(text: str, url: str | None) -> str:
    """Return `text` without the host and the path of `url`, and the parts of the URL around them.

    ``The requested page "/no/such/page" could not be found``, ``example.com is for sale``: a
    page's own address says nothing of its content. O(length of the text + length of the URL),
    however often and in whatever way the one repeats the other.
    """
    paths, host, parts = _written(url or "")
    name = parts.netloc.rpartition("@")[2]

    def start_of_path(start: int) -> int | None:
        if not text.endswith(name, 0, start):
            return None if start and _WITHIN_PATH.match(text, start - 1) else start
        start -= len(name)
        scheme = _SCHEME.search(text[max(0, start - 8) : start])
        return start - len(scheme[0]) if scheme else start

    def start_of_host(start: int) -> int | None:
        start -= len("www.") if text.endswith("www.", 0, start) else 0
        return None if start and _WITHIN_HOST.match(text, start - 1) else start

    for path in paths:
        for part in (f"{path}?{parts.query}", path):
            text = _cut(text, part, r"(?![\w/]|[-.]\w)", start_of_path)
    return _cut(text, host, r"(?![\w-]|\.\w)", start_of_host)


_SCHEME = re.compile(r"(?:https?:)?//\Z")
_WITHIN_PATH, _WITHIN_HOST = re.compile(r"[\w/]"), re.compile(r"[\w.@-]")
"""Characters in front of what is then the end of a longer path, or of a longer host."""


def _cut(text: str, part: str, end: str, start_of: Callable[[int], int | None]) -> str:
    """Return `text` with a space in place of each `part` of it that the lookahead `end` follows.

    `start_of` returns where the cut begins, given where `part` does; None where none is made.
    """
    if not part or part not in text:
        return text
    kept: list[str] = []
    end_of_last = 0
    # A pattern that begins with literal characters is searched for in linear time (Knuth, Morris
    # and Pratt). What must stand in front can't be a part of it, and is looked at behind it.
    for found in re.finditer(re.escape(part) + end, text):
        start = start_of(found.start())
        if start is not None and start >= end_of_last:
            kept += (text[end_of_last:start], " ")
            end_of_last = found.end()
    return "".join([*kept, text[end_of_last:]])


@lru_cache(maxsize=8)  # all texts of a page are asked about one URL
def _written(url: str) -> tuple[set[str], str, SplitResult]:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if not 0 < len(parts.netloc.rpartition("@")[2]) <= _MAX_HOST:
        return set(), "", parts
    return {parts.path, unquote(parts.path)} - {"", "/"}, _bare_host(parts.netloc), parts


_MAX_HOST = 260
"""Maximum characters of a host and its port: a name of the DNS has 253 at most."""


def _bare_host(netloc: str) -> str:
    return netloc.rpartition("@")[2].partition(":")[0].lower().removeprefix("www.")
