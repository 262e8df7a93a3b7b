"""From an HTML tree to the content of a page: one pass over the tree, which collects its blocks.

A tree is never changed. Nothing recurses, except once for the document of a frame. The compiled
walk does the work if it reads trees in the same way as `Walker`.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Final
from zlib import crc32

from lxml import etree
from lxml.html import HtmlElement

from scrapy_neardup._speed import Unfit, agreeing
from scrapy_neardup.errors import InputError
from scrapy_neardup.text import media, tags
from scrapy_neardup.text.blocks import Block, Blocks, Form, Walked
from scrapy_neardup.text.media import is_data, is_state, link_name, series_of, shape_of, sources_of
from scrapy_neardup.text.parse import parse_html, roots_of
from scrapy_neardup.text.tags import (
    KINDS,
    LANDMARKS,
    MAX_LENGTH,
    SECTION_ROLES,
    SECTIONS,
    UNSHOWN_INPUTS,
    Kind,
    are_named,
    step,
)  # fmt: skip

MAX_TITLE = 500
"""Maximum number of characters of a title or heading."""

_LINK_SHARE = 0.8
"""Share of a block's characters in links from which it is a block of links."""

_IN_HEAD = 3
"""Depth of an element in the head; that of the root is 1."""

_MAX_DEPTH = 64
"""Number of elements around a header or footer from which it isn't the page's own."""

_INLINE, _BLOCK, _PLAIN, _LINK, _BREAK = (
    Kind.INLINE, Kind.BLOCK, Kind.PLAIN, Kind.LINK, Kind.BREAK,
)  # fmt: skip
_CONTENT, _BOILERPLATE = Form.CONTENT, Form.BOILERPLATE
_NAMED_INLINE = frozenset({"ins", "span"})
"""Elements within text whose names are read, because they may be advertisements."""

_CELLS = frozenset({"td", "th", "dd"})
"""Elements whose text continues the row of the one before."""

_BESIDE, _BESIDE_ROLES = frozenset({"aside", "header"}), frozenset({"banner", "complementary"})


class Walker:
    """One pass over one tree; `frames` says whether documents of frames are read.

    Three attributes depend on the elements around a block: form, DOM path, whether it is in a
    section. An element that changes them leaves their old values on the stack.
    """

    def __init__(self, *, boilerplate: bool, frames: bool) -> None:
        self._boilerplate, self._frames = boilerplate, frames
        self._found = Walked()
        self._blocks: list[Block] = []
        self._form, self._path, self._in_section = _CONTENT, 0, False
        self._around: list[tuple[int, Form, int, bool]] = []  # depth of an element, ...
        self._parts: list[str] = []  # of the block that is being read
        self._linked = self._characters = 0
        self._joins = self._in_row = False
        self._link_depth = self._heading_depth = self._svg_depth = 0  # of the outermost, or 0
        self._link: list[str] = []
        self._heading: list[str] = []

    def walk(self, root: HtmlElement) -> Walked:
        """Return the content of a page from its tree. O(size of the tree)."""
        if not self._start(root, root.tag, 1):
            return self._found
        open_elements = [iter(root)]
        tails: list[str | None] = [None]
        depth = 1
        while open_elements:
            for child in open_elements[-1]:
                tag, tail = child.tag, child.tail
                if isinstance(tag, str) and self._start(child, tag, depth + 1):
                    if len(child):
                        depth += 1
                        open_elements.append(iter(child))
                        tails.append(tail)
                        break
                    self._end(depth + 1)
                if tail:
                    self._text(tail)
            else:
                open_elements.pop()
                self._end(depth)
                depth -= 1
                if tail := tails.pop():
                    self._text(tail)
        self._flush()
        self._found.blocks = Blocks.of(self._blocks)
        return self._found

    # ---- elements --------------------------------------------------------------------------

    def _start(self, element: HtmlElement, tag: str, depth: int) -> bool:
        """Open an element; return whether to read its content."""
        kind = KINDS.get(tag, _BLOCK)
        if kind is _BLOCK or kind is _PLAIN:
            self._block(element, tag, depth, kind)
        elif kind is _INLINE:
            if tag in _NAMED_INLINE:
                names = element.get("class") or ""
                if are_named(names, element.get("id") or ""):
                    self._open(tag, names, depth, Form.NAMED)
            self._media(element)
        elif kind is _LINK:
            self._open_link(element, depth)
            self._media(element)
        elif kind is _BREAK:  # each line is a separate row
            self._flush()
            self._joins = False
        elif not self._special(element, tag, depth, kind):
            return False
        if text := element.text:
            self._text(text)
        return True

    def _open_link(self, element: HtmlElement, depth: int) -> None:
        href = element.get("href")
        if href is not None and not self._link_depth:
            self._link_depth = depth
            self._link.clear()
            if self._form is Form.NAMED and (name := link_name(href)):
                self._found.links.add(name)

    def _end(self, depth: int) -> None:
        if self._around and self._around[-1][0] == depth:
            self._flush()
            _, self._form, self._path, self._in_section = self._around.pop()
        if self._link_depth == depth:
            self._link_depth = 0
            self._found.linked_days += _is_day("".join(self._link))
        elif self._heading_depth == depth:
            self._heading_depth = 0
            if self._form is not _BOILERPLATE:
                self._found.headings.append(titled("".join(self._heading)))
        elif self._svg_depth == depth:
            self._svg_depth = 0

    def _block(self, element: HtmlElement, tag: str, depth: int, kind: Kind) -> None:
        """Open an element that separates words."""
        form, names, in_section = _CONTENT, element.get("class") or "", tag in SECTIONS
        is_main, role = tag == "main", element.get("role")
        if role or kind is Kind.BOILERPLATE or kind is Kind.ENDS:
            roles = (role or "").lower().split(None, 1)
            role = roles[0] if roles else ""
            in_section = in_section or role in SECTION_ROLES
            is_main = is_main or role == "main"
            own = kind is Kind.ENDS and not (self._in_section or depth > _MAX_DEPTH)
            if kind is Kind.BOILERPLATE or role in LANDMARKS or own:
                form = _BOILERPLATE if self._boilerplate else _CONTENT
                if tag in _BESIDE or role in _BESIDE_ROLES:
                    form = Form.NAMED
        if kind is Kind.NOSCRIPT:
            form = Form.NOSCRIPT
        elif form is _CONTENT and kind is not _PLAIN and are_named(names, element.get("id") or ""):
            form = Form.NAMED
        self._open(tag, names, depth, form)
        if is_main and self._form is Form.NAMED:
            self._form = _CONTENT  # whatever it and the elements around it are named
        self._in_section = self._in_section or in_section
        self._media(element, is_medium=kind is Kind.OBJECT)

    def _open(self, tag: str, names: str, depth: int, form: Form) -> None:
        if self._parts:
            self._flush()
        self._around.append((depth, self._form, self._path, self._in_section))
        self._form = max(self._form, form)
        self._joins = tag in _CELLS
        if not self._joins:
            self._in_row = False
        self._path = crc32(step(tag, names[:MAX_LENGTH]), self._path)

    def _special(  # noqa: C901, PLR0912  (a table: one line or two for each kind)
        self, element: HtmlElement, tag: str, depth: int, kind: Kind
    ) -> bool:
        """Open an element of one of the rarer kinds; return whether its content is read."""
        match kind:
            case Kind.BOILERPLATE | Kind.ENDS | Kind.OBJECT | Kind.NOSCRIPT:
                self._block(element, tag, depth, kind)
                return True
            case Kind.INPUT:
                self._block(element, tag, depth, _BLOCK)
                value = element.get("value")
                if value and (element.get("type") or "").strip().lower() not in UNSHOWN_INPUTS:
                    self._text(value)
                return True
            case Kind.HEADING:
                self._block(element, tag, depth, _PLAIN)
                if not self._heading_depth:
                    self._heading_depth = depth
                    self._heading.clear()
                return True
            case Kind.SVG:
                self._block(element, tag, depth, _BLOCK)
                self._svg_depth = self._svg_depth or depth
                return True
            case Kind.TEMPLATE if element.get("shadowrootmode") or element.get("shadowroot"):
                self._block(element, tag, depth, _BLOCK)
                return True
            case Kind.SKIPPED if tag == "link" and depth == _IN_HEAD:
                names = (element.get("rel") or "").lower().split()
                if "canonical" in names and element.getparent().tag == "head":
                    href = (element.get("href") or "").strip()
                    self._found.canonical = self._found.canonical or href
            case Kind.IGNORED:
                self._flush()
            case Kind.TITLE if not (self._found.title or self._svg_depth):
                self._found.title = titled("".join(element.itertext()))
            case Kind.SCRIPT:
                self._script(element)
            case Kind.VOID:
                self._parts.append("\n")
                self._media(element, is_medium=True)
            case Kind.MEDIA:
                self._parts.append("\n")
                self._media(element, is_medium=True)
                for inner in element.iterdescendants("img", "source", "embed"):
                    self._media(inner, is_medium=True)
                document = element.get("srcdoc")
                if document and self._frames and self._form is not _BOILERPLATE:
                    self._frame(framed(document))
            case Kind.BASE if not self._found.base:
                self._found.base = (element.get("href") or "").strip()
        return kind is Kind.VOID

    def _frame(self, frame: Walked) -> None:
        """Read the document of a frame as a part of this page."""
        self._flush()
        self._blocks += frame.blocks
        self._found.headings += frame.headings
        for source, number in frame.sources.items():
            self._show(source, number)
        self._found.data |= frame.data

    def _script(self, element: HtmlElement) -> None:
        if self._form is _BOILERPLATE:
            return
        code = element.text or ""
        if is_data(element.get("type") or "") or (element.get("src") is None and is_state(code)):
            self._found.data.add(" ".join(code.split()))
        elif element.get("src") is None:
            self._found.data.update(series_of(code))

    def _media(self, element: HtmlElement, *, is_medium: bool = False) -> None:
        """Note the media and data that an element shows by its attributes."""
        if (attributes := element.items()) and self._form is not _BOILERPLATE:
            by_name = dict(attributes)
            for source in set(sources_of(by_name, is_medium=is_medium)):
                self._show(source)
            if self._svg_depth and (shape := shape_of(element.tag, by_name)):
                self._show(shape)

    def _show(self, source: str, number: int = 1) -> None:
        """Count a source; a ``noscript`` repeats images that a script shows."""
        if self._form is not Form.NOSCRIPT or source not in self._found.sources:
            self._found.sources[source] = self._found.sources.get(source, 0) + number

    # ---- text ------------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        self._parts.append(text)
        if text.isspace():
            return
        length = len(text.strip())
        self._characters += length
        if self._link_depth:
            self._linked += length
            self._link.append(text)
        if self._heading_depth:
            self._heading.append(text)

    def _flush(self) -> None:
        if self._characters:
            form = self._form
            is_linked = self._linked >= _LINK_SHARE * self._characters
            if form is _CONTENT and is_linked:
                form = Form.LINKS
            elif form is Form.NAMED and is_linked:
                form = Form.NAMED_LINKS
            if form is _BOILERPLATE:
                self._found.has_boilerplate = True
            else:
                joined = self._joins and self._in_row
                self._blocks.append(Block("".join(self._parts), form, self._path, joined))
            self._in_row = True
            self._characters = self._linked = 0
        self._parts.clear()
        if self._heading_depth:
            self._heading.append(" ")


def titled(text: str) -> str:
    """Return the text of a title or heading, with white space collapsed, and cut off."""
    return " ".join(text.split())[:MAX_TITLE].rstrip()


def _is_day(link: str) -> bool:
    day = link.strip()
    return len(day) <= 2 and day.isdecimal() and 1 <= int(day) <= 31


_compiled: ModuleType | None = None  # until the compiled walk is loaded, below


def walk(*roots: HtmlElement, boilerplate: bool, frames: bool = True) -> Walked:
    """Return the content of a page from its roots, as lxml.html or parsel build them from HTML.

    `boilerplate` leaves out elements whose tag or role says that they are boilerplate; `frames`
    reads documents in attributes. O(size of the tree).
    """
    return Walked.chained([_walked(each, boilerplate, frames) for each in roots])


def _walked(root: HtmlElement, boilerplate: bool, frames: bool) -> Walked:
    if _compiled is not None:
        found: Walked | None = _compiled.walk(root, boilerplate=boilerplate, frames=frames)
        if found is not None:  # a tree made from HTML
            return found
    return pure_walk(root, boilerplate=boilerplate, frames=frames)


def pure_walk(root: HtmlElement, *, boilerplate: bool, frames: bool = True) -> Walked:
    """Do the same in pure Python."""
    return Walker(boilerplate=boilerplate, frames=frames).walk(root)


def framed(document: str) -> Walked:
    """Return the content of a frame's document."""
    try:
        return walk(*roots_of(parse_html(document)), boilerplate=False, frames=False)
    except InputError:  # it is empty, or too large
        return Walked()


_TRIED: Final = ((5, 4), (7,))
"""The oldest lxml with which the compiled walk was tested, and the first with which it wasn't."""

_EXAMPLE: Final = """\
<html lang=en><head><base href=/q/><title> A  page </title>
<link href=/x rel=stylesheet><link rel="a Canonical" href=" /c ">
<script type=application/json>{"a": 1}</script></head>
<body><nav class="Nav 12"><a href=/>Home</a></nav><div class=menu><main id=m>
<h1>Prices \N{EN DASH} <i>2</i></h1>
<p class="lead big7">One <b>bold</b><br>word</p><table><tr><th>A<td>1<tr><td>\N{NO-BREAK SPACE}
</table><div role=banner>b</div><a href=#>31</a><span class=ad-slot>buy</span>
<img src=../a.png?_=1><div style="background: url('b.png')" data-lazy=c.jpg data-j='["a"]'>d</div>
<iframe srcdoc="&lt;p&gt;e&lt;a href=x&gt;f"></iframe><object data=g><p>h</object>
<lite-v videoid=i><noscript>j <img src=k></noscript><input value=r><p data-lat=1></p>
<svg><use href=#s fill=url(#t) x=1></use><image href=u x=2></image></svg>
<ul class=menu><li><a href="../l/m.html?n#o">p</a></ul>
<script>window.__STATE__ = {"x": 2}</script><embed src=v><time>now</time></main></div>
<footer>f</footer></body></html>"""
"""The page on which both walks are compared at import."""


def _example(compiled: ModuleType | None) -> list[Walked]:
    """Return the results for a page with boilerplate and without.

    Raises `Unfit` if trees may be laid out differently than the compiled walk expects.
    """
    if compiled is not None:
        compiled.set_up(tags, SimpleNamespace(**vars(tags) | vars(media) | globals()))
        oldest, newest = _TRIED
        if not oldest <= etree.LXML_VERSION < newest or etree.LIBXML_VERSION[0] != 2:
            raise Unfit(
                f"it was not tested with lxml {etree.LXML_VERSION} and libxml2"
                f" {etree.LIBXML_VERSION}"
            )
        known = parse_html("<p>a</p><p>b</p>")[0]
        if not compiled.is_laid_out_as_built(known, known[0], known[1]):
            raise Unfit(
                f"it was built for lxml {compiled.BUILT_WITH}, whose trees have another layout"
            )
    find = pure_walk if compiled is None else compiled.walk
    root = parse_html(_EXAMPLE)
    return [find(root, boilerplate=boilerplate) for boilerplate in (True, False)]


_compiled = agreeing("walk", _example)
