"""Where two trees of one page differ, as CSS selectors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from cssselect import HTMLTranslator
from lxml.html import HtmlElement

from scrapy_neardup.text.tags import KINDS, Kind

MAX_SELECTORS: Final = 8
"""Maximum number of selectors for one pair of trees."""

_MAX_LOCATED: Final = 64
"""Maximum number of changed elements that are given a selector."""
_MAX_STEPS: Final = 6
"""Maximum number of elements that a selector names."""
_FEW_WORDS: Final = 32
"""Number of words below which a text has changed if any of them has: a clock in a sentence."""

_UNSEEN: Final = {Kind.SKIPPED, Kind.SCRIPT, Kind.TEMPLATE, Kind.TITLE, Kind.BASE}
_TARGETS: Final = ("href", "src", "srcset", "value")
"""Attributes that show a reader something else if they change."""
_NAME: Final = re.compile(r"(?!.*[0-9].*[0-9])[A-Za-z_][\w-]*")
"""A class or id that may name a part of a template; one with two digits names a single page."""


@dataclass(slots=True)
class _Node:
    """An element, and how it compares with the other tree."""

    element: HtmlElement
    parent: int
    """Index of the pair of the parent element; -1 for the root."""
    differs: bool
    """Whether it, or an element in it, has another text or another target."""
    stays: bool
    """Whether some text of it, or of an element in it, is the same."""


def changed_selectors(one: HtmlElement, other: HtmlElement) -> list[str]:
    """Return selectors of the parts that two trees show in different ways.

    Such a part is an element without any text that stays the same. In its tree, a selector fits
    only such parts; parts that no selector fits are left out. O(size of the trees).
    """
    both = dict.fromkeys([*_selectors(one, other), *_selectors(other, one)])
    return list(both)[:MAX_SELECTORS]


def _selectors(tree: HtmlElement, other: HtmlElement) -> Iterator[str]:
    pairs = _paired(tree, other)
    for pair in reversed(pairs):
        if pair.parent >= 0:
            pairs[pair.parent].differs |= pair.differs
            pairs[pair.parent].stays |= pair.stays
    parts = [pair.element for pair in pairs if pair.differs and not pair.stays]
    inside = {element for part in parts for element in part.iter()}
    named: set[HtmlElement] = set()
    for part in parts[:_MAX_LOCATED]:  # parents come first
        if part not in named:
            selector, fitting = _fitting(part, inside)
            named.update(element for each in fitting for element in each.iter())
            yield from [selector] if fitting else []


def _paired(tree: HtmlElement, other: HtmlElement) -> list[_Node]:
    """Return all elements that are shown, parents first, paired by tag, names and order."""
    pairs: list[_Node] = []
    waiting: list[tuple[HtmlElement, HtmlElement | None, int]] = [(tree, other, -1)]
    while waiting:
        element, twin, parent = waiting.pop()
        own = _shown(element)
        if twin is None:
            pairs.append(_Node(element, parent, differs=True, stays=False))
            continue
        theirs = _shown(twin)
        pairs.append(_Node(element, parent, own != theirs, _has_in_common(own[0], theirs[0])))
        twins = _children(twin)
        for key, children in _children(element).items():
            for child, twin_child in zip_longest(children, twins[key]):
                if child is not None:
                    waiting.append((child, twin_child, len(pairs) - 1))
    return pairs


def _children(element: HtmlElement) -> defaultdict[tuple[str, str, str], list[HtmlElement]]:
    found = defaultdict(list)
    for child in element:
        if isinstance(child.tag, str) and KINDS.get(child.tag) not in _UNSEEN:
            found[child.tag, child.get("id", ""), child.get("class", "")].append(child)
    return found


def _shown(element: HtmlElement) -> tuple[list[str], list[str | None]]:
    """Return the words of an element's own text, and its targets."""
    texts = [element.text, *(child.tail for child in element)]
    return " ".join(filter(None, texts)).split(), [element.get(name) for name in _TARGETS]


def _has_in_common(words: list[str], others: list[str]) -> bool:
    """Return whether two texts count as one: if half of many words are the same, or all of few."""
    if len(words) < _FEW_WORDS:
        return bool(words) and words == others
    return 2 * len(set(words) & set(others)) > len(set(words))


def _fitting(part: HtmlElement, inside: set[HtmlElement]) -> tuple[str, set[HtmlElement]]:
    """Return the shortest selector of an element that fits only `inside`, and what it fits.

    Both are empty if there is no such selector.
    """
    root, element = part.getroottree().getroot(), part
    steps: list[str] = []
    while element is not None and element.tag not in {"body", "html"} and len(steps) < _MAX_STEPS:
        steps.insert(0, _step(element))
        selector = " > ".join(steps)
        fitting = set(root.xpath(HTMLTranslator().css_to_xpath(selector)))
        if fitting <= inside:
            return selector, fitting
        element = element.getparent()
    return "", set()


def _step(element: HtmlElement) -> str:
    tag = element.tag if _NAME.fullmatch(element.tag) else "*"
    if _NAME.fullmatch(name := element.get("id", "")):
        return f"{tag}#{name}"
    return tag + "".join(f".{name}" for name in element.get("class", "").split()
                         if _NAME.fullmatch(name))  # fmt: skip
