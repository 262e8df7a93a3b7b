"""The little that this package does with URLs: redact, and name a scope.

Rule of this room: pure functions on strings; no network (the list of public suffixes
is the one that tldextract carries).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

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


@cache
def _suffixes() -> TLDExtract:
    from tldextract import TLDExtract  # noqa: PLC0415  (a tenth of a second to import)

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
