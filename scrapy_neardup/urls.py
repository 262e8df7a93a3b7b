"""The little that this package does with URLs: redact, name a scope, tell pages apart.

Rule of this room: pure functions on strings; no network (the list of public suffixes
is the one that tldextract carries).
"""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha1
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from w3lib.url import canonicalize_url, safe_url_string

if TYPE_CHECKING:
    from tldextract import TLDExtract


def redact(url: str) -> str:
    """Return `url` without user name and password.

    Used for every URL that is stored, logged or shown. What can't be parsed as a URL
    loses everything up to its last ``@``.
    """
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


def identity(url: str) -> bytes:
    """Return what tells the page at `url` from others: Scrapy's fingerprint of a plain GET.

    So a page of a collection is the page that a crawl finds at its URL, whatever the order
    of the parameters in its query. What isn't an http(s) URL (a path) is told by its bytes.

    Notes
    -----
    As `scrapy.utils.request.fingerprint` has it since Scrapy 2.7; a crawl with another
    ``REQUEST_FINGERPRINTER_CLASS`` tells pages apart in its own way. 20 to 40 µs.
    """
    if url.lower().startswith(("http://", "https://")):
        try:
            canonical = canonicalize_url(safe_url_string(url))
        except ValueError:
            return url.encode("utf-8", "surrogatepass")
        request = {"method": "GET", "url": canonical, "body": "", "headers": {}}
        return sha1(json.dumps(request, sort_keys=True).encode(), usedforsecurity=False).digest()
    return url.encode("utf-8", "surrogatepass")


def host(url: str) -> str:
    """Return the lower-cased host name of `url`, or ``""`` where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def registered_domain(url: str) -> str:
    """Return the registered domain of `url` (``example.co.uk``), or else its host.

    Private suffixes count (``alice.github.io`` and ``bob.github.io`` are two sites).
    """
    name = host(url)
    return _suffixes()(name).top_domain_under_public_suffix or name


def without_address(text: str, url: str | None) -> str:
    """Return `text` without the path of `url`, and what of the URL stands around it.

    ``The requested page "/no/such/page" could not be found``: what a page says of its own
    address tells it from no other page. O(length of the text).
    """
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return text
    for path in {parts.path, unquote(parts.path)}:
        if parts.netloc and len(path) > 1 and path in text:
            name = re.escape(parts.netloc.rpartition("@")[2])
            before = rf"(?:(?:(?:https?:)?//)?{name}|(?<![\w/]))"
            query = f"(?:{re.escape('?' + parts.query)})?"
            text = re.sub(rf"{before}{re.escape(path)}{query}(?![\w/]|[-.]\w)", " ", text)
    return text


@cache
def _suffixes() -> TLDExtract:
    from tldextract import TLDExtract  # noqa: PLC0415  (a tenth of a second to import)

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
