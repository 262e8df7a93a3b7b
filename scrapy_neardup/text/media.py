"""What a page shows besides text, and where its links lead: addresses in attributes, and state.

Of media sources and embedded data, what tells two pages of equal text apart is kept, and what
differs between two responses with the same page is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy_neardup.text.tags import SOURCES

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


_MEDIUM = re.compile(
    r"(?i)\A\s*\S+\.(?:aac|apng|avif|avi|bmp|flac|gif|glb|gltf|heic|ico|jfif|jpe?g|jxl|m3u8|m4[av]"
    r"|mkv|mov|mp[34]|mpe?g|mpd|og[agv]|opus|png|svg|swf|tiff?|usdz|wav|weba|webm|webp)(?:[?#]\S*)?\s*\Z"
)
"""An address of a picture, film, sound or model."""
_STYLE_URL = re.compile(r"""(?i)\burl\(\s*("[^"]*"|'[^']*'|[^)"']*)""")
_PLAYED = re.compile(
    r"(?:video|youtube|vimeo|track|tweet|media|clip|playlist|embed)-?id\Z"
    r"|\A(?:data-)?(?:lat|lng|lon|latitude|longitude|coords|coordinates)\Z"
)
"""Names of attributes that say what a player plays, or which place a map shows."""
_WORDED = frozenset({
    "action", "alt", "cite", "class", "content", "download", "formaction", "id", "ping",
    "srcdoc", "title", "value", *SOURCES[8:],
})  # fmt: skip
"""Attributes that may have an address, and show nothing."""


def attribute_sources(name: str, value: str, *, is_medium: bool) -> Iterator[str]:
    """Yield what an attribute that isn't among `SOURCES` shows; see `image_source`.

    It shows media if its name says that it holds the source of a medium, the id of a film or a
    place; if its value is the address of a picture or another medium by its ending; and what
    ``url(...)`` names, as a style does.
    """
    if "url(" in value:
        for address in _STYLE_URL.findall(value):
            yield from image_source(address.strip("\"' "))
    elif name not in _WORDED:
        if (is_medium and "src" in name) or _MEDIUM.match(value):
            yield from image_source(value)
        elif _PLAYED.search(name):
            yield value


def is_dot(length: str | None) -> bool:
    """Return whether an image of this width or height is too small to show anything."""
    return length is not None and length.strip() in {"0", "1"}


def link_name(href: str) -> str:
    """Return the last part of the path that a link leads to, and its query; may be empty."""
    path, mark, query = href.partition("#")[0].partition("?")
    return path.strip().rstrip("/").rpartition("/")[2] + mark + query.strip()


def is_state(script: str) -> bool:
    """Return whether a script holds framework state rather than ordinary code.

    That is, whether it assigns an object, array or encoded JSON to a name such as
    ``__NEXT_DATA__``, ``__INITIAL_STATE__``, ``__NUXT__`` or ``ytInitialData``, or pushes
    to one (``self.__next_f.push([...])``).
    """
    return any(pattern.search(script) for pattern in _STATE)
