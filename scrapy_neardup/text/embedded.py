"""Media sources and embedded data: what a page shows or carries beside its text.

What tells two pages of equal text apart is kept; what differs between two responses with the same
page is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MIN_DATA_URI = 1000
"""Minimum characters of a ``data:`` URI that counts; shorter ones are placeholders of lazy
loading, spacers and icons."""

_UPWARDS = re.compile(r"\A(?:\.{1,2}/)+")

_VOLATILE = re.compile(
    r"""(?ix) (?<=[?&]) (?:
        (?: _ | cb | cachebuster | no-?cache | rand(?:om)? | rnd | ts | timestamp
          | expires | signature | key-pair-id | policy | token | hmac
          | x-amz-[\w-]+ | x-goog-[\w-]+ | se | sig | st ) = [^&]*
        | \d{9,} (?=&|$)
    ) &? """
)
"""Query parameters that say when an address was made, not what it shows: numbers against
caches, and signatures of storage services."""

_ASSIGNED = r"""(?x: (?: ["']\s*\] )? \s*
    (?: = \s* (?: [\[{(] | ["'](?:[\[{]|%7B|%5B) | JSON\.parse\b ) | \.push\s*\(\s*\[ ))"""
_STATE = (
    re.compile(r"__(?<![\w$]__)\w{1,64}+" + _ASSIGNED),
    re.compile(r"nitial(?:State|Data|Props)\w{0,64}+" + _ASSIGNED),
)
"""Two patterns, as `re` is fast where one starts with literal characters; the names are
bounded, to be linear in the length of a script."""


def image_source(value: str) -> Iterator[str]:
    """Yield what `value`, a ``src`` or ``srcset``, points to, if it identifies an image.

    Addresses stay as they are written, relative ones too, so that a page has the same
    under whatever URL; ``../`` in front is removed. So are fragments, cache-busting and
    signing parameters. Of a ``srcset`` the first candidate counts (the others show the same
    image); short ``data:`` URIs, blobs and scripts do not count.
    """
    source = value.strip()
    if source[:5].lower() == "data:":
        if len(source) >= _MIN_DATA_URI:
            yield source
        return
    source = source.split(None, 1)[0].rstrip(",") if source else ""
    source = source.partition("#")[0]
    if source and not source.lower().startswith(("blob:", "javascript:", "about:")):
        if "?" in source:
            source = _VOLATILE.sub("", source).rstrip("?&")
        yield _UPWARDS.sub("", source)


def is_state(script: str) -> bool:
    """Return whether a script holds framework state rather than ordinary code.

    That is, whether it assigns an object, array or encoded JSON to a name such as
    ``__NEXT_DATA__``, ``__INITIAL_STATE__``, ``__NUXT__`` or ``ytInitialData``, or pushes
    to one (``self.__next_f.push([...])``).
    """
    return any(pattern.search(script) for pattern in _STATE)
