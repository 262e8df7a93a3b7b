"""Pages nested so deeply that the usual tools give up.

Rule of this room: no text is lost to nesting, nothing here recurses, and time grows with
the page's size only.

libxml2 from 2.13 on ends a page, without a word, at the 2,048th open element
(``huge_tree``, as parsel parses; at the 256th without), and an older one builds a tree
that libxslt refuses from a depth of 3,000 on. Its tokeniser knows no such limit: fed with
its events, `ShallowBuilder` makes a tree with all the text in its order, in which what is
nested deeper than `MAX_DEPTH` are siblings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

MAX_DEPTH = 256
"""Maximum nesting that stays as it is; browsers stop at 512, libxml2 at 256 by default."""

_DEEPEST_TREE = 2046
"""Shortest chain of open elements at which a libxml2 has ended a page."""

_REFUSED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that libxml2's tokeniser lets pass and lxml's builder doesn't."""
_REFUSED_IN_NAMES = re.compile(rf"""{_REFUSED.pattern}|["'&/<>{{\s]""")
"""The same in names of elements and attributes."""


class ShallowBuilder:
    """A parser target (see lxml, "the target parser interface") that limits the depth.

    An element nested too deeply is closed where the next one starts, so that it has its
    own text and nothing else; the text of a script stays the text of a script. Characters that no
    tree may hold, which part words, become spaces, in names underscores.
    """

    def __init__(self) -> None:
        self._builder = etree.TreeBuilder(element_factory=HTMLParser().makeelement)  # type: ignore[arg-type]  # stubs
        self._depth = 0
        self._deep = ""  # tag of the open element that is nested too deeply

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        self._close_deep()
        self._depth += 1
        accepted = {_name(name): _text(value) for name, value in attributes.items()}
        self._builder.start(_name(tag), accepted)  # type: ignore[arg-type]  # stubs
        if self._depth > MAX_DEPTH:
            self._deep = _name(tag)

    def end(self, tag: str) -> None:
        """Close an element."""
        if self._depth <= MAX_DEPTH:
            self._builder.end(_name(tag))
        elif self._deep:
            self._close_deep()
        else:  # it was closed before; an empty one parts the words here, as its end would
            self._builder.start(_name(tag), {})
            self._builder.end(_name(tag))
        self._depth -= 1

    def data(self, text: str) -> None:
        """Add text."""
        self._builder.data(_text(text))

    def close(self) -> HtmlElement:
        """Return the root."""
        return self._builder.close()

    def _close_deep(self) -> None:
        if self._deep:
            self._builder.end(self._deep)
            self._deep = ""


def _name(name: str) -> str:
    return _REFUSED_IN_NAMES.sub("_", name)


def _text(text: str) -> str:
    return _REFUSED.sub(" ", text)


def lost_content(root: HtmlElement, body_length: int) -> bool:
    """Return whether the parser gave up on a page before its end.

    Parameters
    ----------
    root
        What parsel, or lxml with ``huge_tree``, made of the page.
    body_length
        Length of the page in bytes or characters.

    Notes
    -----
    When libxml2 gives up, the elements that were open are those on the way to the last
    one: only that way is looked at. O(its length), a microsecond on an ordinary page.
    """
    if not len(root):
        return body_length > 0
    depth = 0
    while len(root):
        root = root[-1]
        depth += 1
    return depth >= _DEEPEST_TREE
