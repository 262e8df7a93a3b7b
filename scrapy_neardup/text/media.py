"""Media, embedded data and link targets of a page, from attributes and scripts.

Media sources and embedded data are kept if they distinguish two pages of equal text, and left out
if they differ between two responses with the same page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scrapy_neardup.text.tags import DRAWN, REFERENCES, SOURCES, WORDED

_MIN_DATA_URI = 1000
"""Minimum length of a ``data:`` URI that counts; shorter ones are placeholders and icons."""

_UPWARDS = re.compile(r"\A(?:\.{1,2}/)+")

_VOLATILE = re.compile(
    r"""(?ix) (?<=[?&]) (?:
        (?: _ | cb | cachebuster | no-?cache | rand(?:om)? | rnd | ts | timestamp
          | expires | signature | key-pair-id | policy | token | hmac
          | x-amz-[\w-]+ | x-goog-[\w-]+ | se | sig | st ) = [^&]*
        | \d{9,} (?=&|$)
    ) &? """
)
"""Query parameters that say when an address was made, not what it shows: cache-busting numbers,
and signatures of storage services."""

_ASSIGNED = r"""(?x: (?: ["']\s*\] )? \s*
    (?: = \s* (?: [\[{(] | ["'](?:[\[{]|%7B|%5B) | JSON\.parse\b ) | \.push\s*\(\s*\[ ))"""
_STATE = (
    re.compile(r"__(?<![\w$]__)\w{1,64}+" + _ASSIGNED),
    re.compile(r"nitial(?:State|Data|Props)\w{0,64}+" + _ASSIGNED),
)
"""Two patterns, because `re` is fast if a pattern starts with literal characters. The names are
bounded, so that the time is linear in the length of a script."""


def image_source(value: str) -> Iterator[str]:
    """Yield the address in `value`, a ``src`` or ``srcset``, if it identifies an image.

    Relative addresses stay relative, so that a page has the same media under any URL. A leading
    ``../``, fragments, and cache-busting and signing parameters are removed. Only the first
    candidate of a ``srcset`` counts; short ``data:`` URIs, blobs and scripts don't count.
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
    r"(?i)\A\s*+(?=\S++\s*+\Z)\S+?\.(?:aac|apng|avif|avi|bmp|flac|gif|glb|gltf|heic|ico|jfif|jpe?g"
    r"|jxl|m3u8|m4[av]|mkv|mov|mp[34]|mpe?g|mpd|og[agv]|opus|png|svg|swf|tiff?|usdz|wav|weba|webm"
    r"|webp)(?=[?#\s]|\Z)"
)
"""An address of a picture, film, sound or model."""
_STYLE_URL = re.compile(r"""(?i)\burl\(\s*("[^"]*"|'[^']*'|[^)"']*)""")
JSON = "json:"
"""Before JSON in an attribute, among the sources of images."""
_JSON = re.compile(r"""\s*(?:\{\s*"|\[\s*["{\[])""")
"""The beginning of an object or a list with content in JSON; ``{ open: false }`` is code."""
_PLAYED = re.compile(
    r"(?:video|youtube|vimeo|track|tweet|media|clip|playlist|embed)-?id\Z"
    r"|\A(?:data-)?(?:lat|lng|lon|latitude|longitude|coords|coordinates)\Z"
)
"""Names of attributes that hold the medium of a player, or the place of a map."""


def attribute_sources(name: str, value: str, *, is_medium: bool) -> Iterator[str]:
    """Yield the media that an attribute outside of `SOURCES` shows; see `image_source`.

    An attribute shows a medium if its name says that it holds a source, the id of a film or a
    place; if its value has the extension of a medium; or if it has ``url(...)``, as in a style.
    JSON in an attribute is data that a script shows there (``data-page``, ``:post``).
    """
    if name not in WORDED and _JSON.match(value):
        yield JSON + value
    elif "url(" in value:
        for address in _STYLE_URL.findall(value):
            yield from image_source(address.strip("\"' "))
    elif name not in WORDED:
        if (is_medium and "src" in name) or _MEDIUM.match(value):
            yield from image_source(value)
        elif _PLAYED.search(name):
            yield value


def sources_of(attributes: Mapping[str, str], *, is_medium: bool) -> Iterator[str]:
    """Yield the media that an element shows by its attributes, if it isn't a dot."""
    if _is_dot(attributes.get("width")) or _is_dot(attributes.get("height")):
        return
    for name, value in attributes.items():
        if name in SOURCES and (is_medium or name not in REFERENCES):
            yield from image_source(value)
        else:
            yield from attribute_sources(name, value, is_medium=is_medium)


def shape_of(tag: str, attributes: Mapping[str, str]) -> str:
    """Return what an element of an inline SVG draws, as text; empty for nothing.

    Names that a page gives its own gradients (``url(#a1)``) don't count, as they may be random.
    """
    drawn = [
        f"{name}={value} "
        for name, value in attributes.items()
        if "url(" not in value and (name in DRAWN or (tag == "use" and name in REFERENCES))
    ]
    return "svg:" + "".join(drawn) if drawn else ""


def _is_dot(length: str | None) -> bool:
    """Return whether an image of this width or height is too small to show anything."""
    return length is not None and length.strip() in {"0", "1"}


def link_name(href: str) -> str:
    """Return the last part of the path that a link leads to, and its query; may be empty."""
    path, mark, query = href.partition("#")[0].partition("?")
    return path.strip().rstrip("/").rpartition("/")[2] + mark + query.strip()


def is_data(kind: str) -> bool:
    """Return whether a script of this type holds data; a program may wait as ``text/plain``."""
    kind = kind.strip().lower()
    return "json" in kind or ("/" in kind and "script" not in kind and kind != "text/plain")


def is_state(script: str) -> bool:
    """Return whether a script holds framework state rather than ordinary code.

    Such a script assigns an object, array or encoded JSON to a name such as ``__NEXT_DATA__`` or
    ``ytInitialData``, or pushes to one (``self.__next_f.push([...])``).
    """
    return any(pattern.search(script) for pattern in _STATE)


_SERIES = re.compile(r"(?a)\[[\]\[\d\s.,eE+-]{9,}+")
"""A list of numbers, or the beginning of a list of such lists."""
_MIN_NUMBERS = 5


def series_of(script: str) -> Iterator[str]:
    """Yield the lists of numbers in ordinary code, from which it may draw a chart."""
    for series in _SERIES.findall(script):
        if series.count(",") >= _MIN_NUMBERS - 1:
            yield series
