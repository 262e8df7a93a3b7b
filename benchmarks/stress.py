"""Furniture that no name gives away, added to the pages of a real site.

The same 200 words in a plain ``div``, without class or id, at the end of each page
(``words``), or of 80 pages that follow one another in the site's own order (``section``).
Pages are changed before they are parsed, so that the plugin meets them as it would on the
web. The words are made up and on no page before.
"""

from __future__ import annotations

import random
from typing import Literal

Stress = Literal["words", "section"]
WORDS: Stress = "words"
SECTION: Stress = "section"

ADDED_WORDS = 200
SECTION_PAGES = 80

_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ro", "su")


def section(pages: int) -> range:
    """Return which pages of a site are the section: those in its middle."""
    start = max(0, (pages - SECTION_PAGES) // 2)
    return range(start, min(pages, start + SECTION_PAGES))


def added(stress: Stress | None, pages: int) -> list[bytes]:
    """Return the element that is added to each page; ``b""`` for none."""
    if stress is None:
        return [b""] * pages
    element = f"<div>{_words(stress)}.</div>".encode()
    affected = range(pages) if stress == WORDS else section(pages)
    return [element if page in affected else b"" for page in range(pages)]


def insert(html: bytes, element: bytes) -> bytes:
    """Return a page with an element before the end of its body."""
    end = html.lower().rfind(b"</body")
    return html + element if end < 0 else html[:end] + element + html[end:]


def _words(seed: str) -> str:
    chance = random.Random(seed)
    return " ".join(
        "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(ADDED_WORDS)
    )
