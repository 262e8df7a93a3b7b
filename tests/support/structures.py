"""Pages with a structure that somebody thought of to make them expensive, in any size.

A page is a few runs, each of one unit again and again: as siblings, nested, never closed; in one
text, attribute, title or script. Two runs in one page find what costs their product.
"""

from typing import NamedTuple

from hypothesis import strategies as st

from scrapy_neardup.text.tags import KINDS

_TAGS = sorted(
    {
        *KINDS,
        "body",
        "dd",
        "div",
        "form",
        "head",
        "html",
        "li",
        "option",
        "p",
        "section",
        "td",
        "ul",
    }
)
_ATTRIBUTES = (
    "class", "id", "role", "href", "src", "srcset", "width", "type", "shadowrootmode", "content",
    "lang", "style",
)  # fmt: skip
_WORDS = (
    "nav", "nav ", "nav-{k} ", "Ad", "x", "x{k} ", "7", "7 ", "{k} ", "1.", "-", "_", "__A", "é ",
    "中", "\u0301", "\u0316\u0301", "\u2028", " ", "\n", "&", "&amp;", "12:30 ", "12:", "2024-01-",
    "2024 ", "1 January ", "January ", "5 hits ", "hits ", "a/", "../", "a,b ", "?_=1&", "data:",
    "[{{", "initialState", "window.__A__ = ", '"a":', "//", "<", "</", "<!--", "<!", "<?",
    "http://a.test/",
)  # fmt: skip


class Run(NamedTuple):
    """One unit, again and again; ``{k}`` in it counts."""

    kind: str
    tags: tuple[str, ...]
    attribute: str
    word: str
    text: str

    def html(self, size: int) -> str:
        if self.kind in {"text", "attribute"}:
            long = _counted(self.word, size)
            quoted = long.replace('"', "") if self.kind == "attribute" else ""
            opened = f'<{self.tags[0]} {self.attribute}="{quoted}">'
            return opened + (self.text if quoted else long) + f"</{self.tags[0]}>"
        value = self.word.replace('"', "")
        opening = "".join(f'<{tag} {self.attribute}="{value}">' for tag in self.tags)
        closing = "".join(f"</{tag}>" for tag in reversed(self.tags))
        if self.kind == "siblings":
            return _counted(opening + self.text + closing, size)
        if self.kind == "unclosed":
            return _counted(opening + self.text, size)
        times = size // (len(opening) + len(closing)) + 1
        return _counted(opening, times * len(opening)) + self.text + closing * times


def _counted(unit: str, size: int) -> str:
    times = size // len(unit) + 1
    if "{k}" not in unit:
        return unit * times
    return "".join(unit.replace("{k}", str(number)) for number in range(times))


class Structure(NamedTuple):
    """A page, and its address."""

    runs: tuple[Run, ...]
    step: str
    steps: int

    def html(self, size: int) -> bytes:
        parts = (run.html(size // len(self.runs)) for run in self.runs)
        return "".join(parts).encode()

    @property
    def url(self) -> str:
        """The address, which doesn't grow with the page."""
        return "http://a.test/" + self.step * self.steps


_words = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map("".join)
_runs = st.builds(
    Run,
    st.sampled_from(["siblings", "nested", "unclosed", "text", "attribute"]),
    st.lists(st.sampled_from(_TAGS), min_size=1, max_size=2).map(tuple),
    st.sampled_from(_ATTRIBUTES),
    _words,
    _words,
)
structures = st.builds(
    Structure,
    st.lists(_runs, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["a/", "nav-7/", "?a=1&", "2024/", "%C3%A9", "7"]),
    st.integers(0, 1_000),
)
