"""Pages for what reads pages in two ways: documentation, damaged at random."""

import bisect
import pydoc
import textwrap

from hypothesis import strategies as st

from scrapy_neardup.text.tags import KINDS

_TAGS = (*KINDS, "dd", "div", "head", "li", "object", "picture", "section", "table", "td", "x-y")
_ATTRIBUTES = (
    "class=nav", "class='ad-slot 12'", "class='Side\u00a0Bar7 b12c'", "class=content", "class=''",
    "class=" + "é" * 198 + "-ad", "id=footer", "id=x1", "role=banner", "role=' MAIN x'",
    "role=none", "role=complementary", "href=/", "href", "src=a.png", "src='../b c.jpg?_=12'",
    "src=data:x", "srcset='a.png 1x, b.png 2x'", "data-src=#f", "width=1", "height=' 0 '",
    "width=10", "lang=en", "type=application/JSON", "shadowrootmode=open", "poster=p.jpg",
    "xlink:href=i.svg",
)  # fmt: skip
_TEXTS = (
    "word", " ", "\n", "\u00a0", "\u2003\u3000", "31", " 5\n", "0", "32", "٣", "Zürich", "中文字",
    "\u2028", "\x1f", "\x85", "12:30", "3 hits", "2024-01-31", "1 January 2024", "ad", "😀",
    "x" * 170 + " 12:30", "window.__STATE__ = {'a': 1}", "ytInitialData = [", '{"a":  1}',
    "<!-- c -->", "&amp;", "&#0;", "<![CDATA[x]]>", "<?pi x?>",
    "last modified 3 January 2024 at 10:12",
)  # fmt: skip

_REAL = tuple(
    f"<html lang=en><title>{module.__name__}</title><nav class=top><a href=/>Home</a></nav>"
    f"{pydoc.HTMLDoc().docmodule(module)}<footer>Made 2024-01-31 in 12 ms</footer>"
    for module in (bisect, textwrap)
)

_opening = st.builds(
    lambda tag, attributes: f"<{' '.join([tag, *attributes])}>",
    st.sampled_from(_TAGS),
    st.lists(st.sampled_from(_ATTRIBUTES), max_size=3),
)
_pieces = st.one_of(
    _opening, _opening, st.sampled_from(_TEXTS), st.sampled_from(_TAGS).map("</{}>".format)
)
made_up = st.lists(_pieces, max_size=40).map("".join)
"""Tags and texts in any order."""


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Documentation with pieces cut out, and others put in."""
    page = draw(st.sampled_from(_REAL))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(page)))
        end = start + draw(st.integers(0, 400))
        page = page[:start] + draw(made_up) + page[end:]
    return page


pages = made_up | damaged()
