"""Functions on URLs: redact them, name their site, compare them, find them in a page's text.

They are pure functions on strings, without network; the list of public suffixes comes with
tldextract.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Return a store's URI without user, password and parameters, for messages.

    An unescaped ``/``, ``?`` or ``#`` in a password ends the authority by a URI's grammar. So the
    part after the scheme is shown only if none of these is before an ``@``, and the part after the
    ``@`` looks like hosts and ports.
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
    """Return the site of `url` in lower case; ``""`` if there is none.

    `extent` is ``server``: host and port, without the default port (the crawl learns about each
    server); ``host``, with any port; or ``domain``, the registered domain (``example.co.uk``), or
    else the host. Private suffixes count: ``alice.github.io`` and ``bob.github.io`` are two sites.
    User names, passwords and a dot at the end of the host don't count.
    """
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return ""
    return _site(parts.scheme, parts.netloc, extent)


@lru_cache(maxsize=1024)
def _site(scheme: str, netloc: str, extent: Extent) -> str:
    parts = SplitResult(scheme, netloc, "", "", "")
    try:
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    if extent == "domain":
        return _suffixes()(name).top_domain_under_public_suffix or name
    if extent == "host" or port in {None, _USUAL_PORTS.get(scheme)}:
        return name
    return f"{name}:{port}"


def hash_of(text: str, size: int) -> int:
    """Return a digest of a text, at most 8 bytes and not 0; 0 for no text."""
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=size).digest(), "little") or 1


class Address(NamedTuple):
    """The parts of a URL that distinguish pages."""

    site: str
    """The result of `site` for a server, such as ``//example.com:8080``; or ``""``."""
    folders: tuple[int, ...]
    """32-bit hashes of the folders that lead to the page: the site, then at most `MAX_DEPTH`."""
    path: int
    """64-bit hash of the site and the path."""
    name: int
    """16-bit hash of the last step of the path, without ``.html``."""
    query: int
    """16-bit hash of the parameters, in any order; 0 for none."""
    place: int
    """32-bit hash of the site and `place_in` the path: pages of one place count as pages of one
    template."""

    @classmethod
    def of(cls, url: str | None, salt: str = "") -> Self:
        """Return the parts of `url`; without a site if it can't be parsed. O(length).

        If `salt` is secret, nobody else can compute the hashes.
        """
        try:
            parts = urlsplit(url or "")
        except ValueError:
            return cls(*_NOWHERE)
        server = f"//{name}" if (name := _site(parts.scheme, parts.netloc, "server")) else ""
        path = parts.path[:MAX_ADDRESS]
        last = _INDEX.sub("", path).rstrip("/").rpartition("/")[2] or server
        if "." in last and (page := _PAGE_NAME.fullmatch(last)):
            last = page[1]
        folders, place = _folders(salt, server, path.rstrip("/").rpartition("/")[0])
        query = "&".join(sorted(parameters_of(parts.query[:MAX_ADDRESS])))
        return cls(
            server,
            folders,
            hash_of(salt + server + path, 8) if server or path else 0,
            hash_of(salt + last, 2),
            hash_of(salt + query, 2) if query else 0,
            place,
        )


_NOWHERE = Address("", (0,), 0, 0, 0, 0)
"""The parts of a URL that can't be parsed."""


_SEMICOLONS = re.compile(r"[^&;=]+=[^&;]*(?:;[^&;=]+=[^&;]*)+")


def parameters_of(query: str) -> list[str]:
    """Return the parameters of a query as they are written.

    ``;`` separates them as ``&`` does if each has a name and a value: ``p=a.git;a=log``.
    """
    separator = ";" if _SEMICOLONS.fullmatch(query) else "&"
    return [part for part in query.split(separator) if part]


def place_in(path: str) -> str:
    """Return the folder of the last step of a path, without numbers."""
    return _NUMBER.sub("0", path.rstrip("/").rpartition("/")[0])


MAX_DEPTH = 8
"""Maximum number of steps of a path whose folders are distinguished."""

_NUMBER = re.compile(r"[0-9]+")
_USUAL_PORTS = {"http": 80, "https": 443}

MAX_ADDRESS = 2_000
"""Maximum number of examined characters of a path or query."""

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

_INDEX = re.compile(r"(?i)(?<=/)(?:index|default)\.[a-z]{3,5}$")
"""The last step of a path that is the page of its folder."""

_CODE = rf"(\.(?:{_LANGUAGES.replace(' ', '|')})(?:[-_](?:[a-z]{{2}}|[a-z]{{4}}))?)"

_PAGE_NAME = re.compile(rf"(?i)(.+?){_CODE}?\.x?html?{_CODE}?")
"""A last step named like ``intro/``: ``intro.html``, ``intro.de.html``, ``intro.html.de``."""


@lru_cache(maxsize=512)
def _folders(salt: str, server: str, path: str) -> tuple[tuple[int, ...], int]:
    """Return the hashes of a path's folders (`Address.folders`) and of its place."""
    steps = path.split("/")[1 : 1 + MAX_DEPTH]
    folders = ["/".join([server, *steps[:depth]]) for depth in range(len(steps) + 1)]
    hashes = tuple([hash_of(salt + folder, 4) if folder else 0 for folder in folders])
    return hashes, hash_of(salt + server + _NUMBER.sub("0", path), 4)


@cache
def _suffixes() -> TLDExtract:
    from tldextract import TLDExtract  # noqa: PLC0415  (a tenth of a second to import)

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


# A page's own address in its text. Soft 404s and parked domains repeat it, but it isn't content.
# A page that shows the key of its address says which page it is.

_KEY = re.compile(
    r"(?<![^\W_])(?:(?=(?:[-.]?\d){5})\d+(?:[-.]\d+)+|(?=(?:[a-z]*\d){3})[a-z\d]{4,40})"
    r"(?![^\W_])"
)
_DATE = re.compile(
    r"(?:19|20)\d\d(?:[-.](?:0?\d|1[0-2]))?(?:[-.](?:[0-2]?\d|3[01]))?"
    r"|[0-3]?\d[-.][0-3]?\d[-.](?:19|20)?\d\d"
)
_THREE_DIGITS = re.compile(r"(?s)\d.*?\d.*?\d")
_MAX_KEYS = 8


def shown_keys(url: str | None, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the keys in a URL's path and parameters that are also in the texts, in lower case.

    A key is a word of at least four characters, three of them digits; or numbers joined by hyphens
    or points, of at least five digits, which aren't a date. For example, the page
    ``/part?no=847-12345`` shows ``Part no. 847-12345``. O(length of the URL), with a key O(length
    of the text).
    """
    if not _THREE_DIGITS.search(url or ""):
        return ()
    _, _, parts = _written(url or "")
    words = _KEY.findall(f"{parts.path[:MAX_ADDRESS]} {parts.query[:MAX_ADDRESS]}".lower())
    keys = [word for word in dict.fromkeys(words) if not _DATE.fullmatch(word)][:_MAX_KEYS]
    text = "\n".join(texts).lower() if keys else ""
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

    Examples are ``The requested page "/no/such/page" could not be found`` and ``example.com is for
    sale``: a page's own address isn't content. O(length of the text + length of the URL), even if
    the text repeats the URL many times.
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
"""A character before a match: the match is the end of a longer path, or of a longer host."""


def _cut(text: str, part: str, end: str, start_of: Callable[[int], int | None]) -> str:
    """Return `text` with a space in place of each `part` that the lookahead `end` follows.

    `start_of` returns the start of the cut from the start of `part`, or None for no cut.
    """
    if not part or part not in text:
        return text
    kept: list[str] = []
    end_of_last = 0
    # A pattern that begins with literal characters is searched for in linear time (Knuth, Morris
    # and Pratt). So the characters that must precede it aren't in it, and are checked afterwards.
    for found in re.finditer(re.escape(part) + end, text):
        start = start_of(found.start())
        if start is not None and start >= end_of_last:
            kept += (text[end_of_last:start], " ")
            end_of_last = found.end()
    return "".join([*kept, text[end_of_last:]])


@lru_cache(maxsize=8)  # all texts of a page are searched for one URL
def _written(url: str) -> tuple[set[str], str, SplitResult]:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if not 0 < len(parts.netloc.rpartition("@")[2]) <= _MAX_HOST:
        return set(), "", parts
    host = parts.netloc.rpartition("@")[2].partition(":")[0].lower().removeprefix("www.")
    return {parts.path, unquote(parts.path)} - {"", "/"}, host, parts


_MAX_HOST = 260
"""Maximum characters of a host and its port: a name of the DNS has 253 at most."""
