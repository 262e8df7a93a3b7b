"""Where two trees of one page differ, as CSS selectors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from lxml.html import HtmlElement

from scrapy_neardup.text.tags import KINDS, Kind

MAX_SELECTORS: Final = 8
"""Maximum number of selectors for one pair of trees."""

_FEW_WORDS: Final = 32
"""Number of words below which a text has changed if any of them has: a clock in a sentence."""

_UNSEEN: Final = {Kind.SKIPPED, Kind.SCRIPT, Kind.TEMPLATE, Kind.TITLE, Kind.BASE}
_TARGETS: Final = ("href", "src", "srcset", "value")
"""Attributes that show a reader something else if they change."""
_NAME: Final = re.compile(r"(?!.*[0-9].*[0-9])[A-Za-z_][\w-]*")
"""A tag, class or id of a template; one with two digits names a single page."""


class _Shown(NamedTuple):
    """What an element shows by itself."""

    words: list[str]
    targets: list[str | None]

    def is_kept_by(self, other: _Shown) -> bool:
        """Whether its text stays: half of the words if it has many, else all of them."""
        if len(self.words) < _FEW_WORDS:
            return bool(self.words) and self.words == other.words
        words = set(self.words)
        return 2 * len(words.intersection(other.words)) > len(words)


_NOTHING: Final = _Shown([], [])


def changed_selectors(one: HtmlElement, other: HtmlElement) -> list[str]:
    """Return selectors of the parts that two trees show in different ways.

    Such a part has a class or id, and no text that stays the same. In its tree, a selector fits no
    element with such a text. O(size of the trees).
    """
    ours, theirs = _elements(one), _elements(other)
    both = dict.fromkeys([*_selectors(ours, theirs), *_selectors(theirs, ours)])
    return list(both)[:MAX_SELECTORS]


_Elements = dict[int, tuple[HtmlElement, _Shown]]
"""Digest of an element's place in its tree -> the element, and what it shows; parents first."""


def _elements(tree: HtmlElement) -> _Elements:
    """Return the elements of a tree by the tags, names and order that lead to them."""
    found: _Elements = {}
    places: dict[HtmlElement | None, int] = {}
    numbers = Counter[tuple[int, str, str, str]]()
    for element in tree.iter():
        parent = element.getparent()
        is_seen = isinstance(element.tag, str) and KINDS.get(element.tag) not in _UNSEEN
        if is_seen and (element is tree or parent in places):
            key = (
                places.get(parent, 0),
                element.tag,
                element.get("id", ""),
                element.get("class", ""),
            )
            place = places[element] = hash((key, numbers[key]))
            numbers[key] += 1
            texts = [element.text, *(child.tail for child in element)]
            targets = [element.get(name) for name in _TARGETS]
            found[place] = element, _Shown(" ".join(filter(None, texts)).split(), targets)
    return found


def _selectors(ours: _Elements, theirs: _Elements) -> Iterator[str]:
    """Yield selectors of the outermost elements that differ, and have no text that stays."""
    differ: set[HtmlElement | None] = set()
    stay: set[HtmlElement | None] = set()
    for place, (element, shown) in reversed(ours.items()):  # children come first
        _, other = theirs.get(place, (None, _NOTHING))
        if element in differ or shown != other:
            differ |= {element, element.getparent()}
        if element in stay or shown.is_kept_by(other):
            stay |= {element, element.getparent()}
    fitting_stay = {name for each, _ in ours.values() if each in stay for name in _names(each)}
    inside: set[HtmlElement | None] = set()
    for element, _ in ours.values():
        if element.getparent() in inside:
            inside.add(element)
        elif element in differ and element not in stay:
            names = [name for name in _names(element) if name not in fitting_stay]
            inside.update([element] if names else ())
            yield from names[:1]


def _names(element: HtmlElement) -> list[str]:
    """Return the selectors of an element by its id and by each of its classes."""
    classes = element.get("class", "").split()
    names = [f"#{element.get('id', '')}", *(f".{each}" for each in classes)]
    tag = element.tag if _NAME.fullmatch(element.tag) else "*"
    return [tag + name for name in names if _NAME.fullmatch(name[1:])]
