"""The walk that does the work: the compiled one where it reads trees as `walk` does.

What a walk finds is defined in `scrapy_neardup.text.walk`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

from lxml import etree
from lxml.html import HtmlElement

from scrapy_neardup import _speed
from scrapy_neardup.text import tags
from scrapy_neardup.text import walk as pure
from scrapy_neardup.text.blocks import Walked
from scrapy_neardup.text.parse import parse_html

_TRIED: Final = ((5, 4), (7,))
"""The oldest lxml whose trees the compiled walk was tried on, and the first it was not."""

_EXAMPLE: Final = """\
<html lang=en><head><title> A  page </title><script type=application/json>{"a": 1}</script></head>
<body><nav class="Nav 12"><a href=/>Home</a></nav><main id=m>
<h1>Prices \N{EN DASH} <i>2</i></h1>
<p class="lead big7">One <b>bold</b><br>word</p><table><tr><th>A<td>1<tr><td>\N{NO-BREAK SPACE}
</table><div role=banner>b</div><a href=#>31</a><span class=ad-slot>buy</span>
<img src=../a.png?_=1><script>window.__STATE__ = {"x": 2}</script><time>now</time></main>
<footer>f</footer></body></html>"""
"""What both walks are compared on when they are imported."""


def walk(root: HtmlElement, *, boilerplate: bool) -> Walked:
    """Walk a page's tree; see `scrapy_neardup.text.walk.walk`."""
    if _compiled is not None:
        found: Walked | None = _compiled.walk(root, boilerplate=boilerplate)
        if found is not None:  # a tree that HTML makes
            return found
    return pure.walk(root, boilerplate=boilerplate)


def _load() -> ModuleType | None:
    compiled = _speed.load("walk")
    if compiled is None:
        return None
    try:
        compiled.set_up(tags, pure)
    except TypeError:
        _speed.refuse("walk", "the module is older than its source: install again")
        return None
    oldest, newest = _TRIED
    root = parse_html(_EXAMPLE)
    known = parse_html("<p>a</p><p>b</p>")[0]
    if not oldest <= etree.LXML_VERSION < newest or etree.LIBXML_VERSION[0] != 2:
        why = f"it was not tried with lxml {etree.LXML_VERSION} and libxml2 {etree.LIBXML_VERSION}"
    elif not compiled.is_laid_out_as_built(known, known[0], known[1]):
        why = f"the trees of lxml {compiled.BUILT_WITH}, for which it was built, are other ones"
    elif any(
        compiled.walk(root, boilerplate=boilerplate) != pure.walk(root, boilerplate=boilerplate)
        for boilerplate in (True, False)
    ):
        why = "it finds something else on a page"
    else:
        return compiled
    _speed.refuse("walk", why)
    return None


_compiled = _load()
