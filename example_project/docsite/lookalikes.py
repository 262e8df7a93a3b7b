"""Modules that say the same although they are different pages.

It is exact, and independent of the plugin: it reads the pages its own way, so that the plugin
isn't judged by its own idea of a text.
"""

from __future__ import annotations

import html
import re

from docsite.library import Library, Module

SHINGLE = 4
"""Words in a shingle."""
ALIKE = 0.9
"""From this resemblance on, a page in place of the other is neither lost nor saved."""


def shingles(module: Module) -> frozenset[tuple[str, ...]]:
    """Return the word 4-shingles of a module's page, without the site's template."""
    marked_up = " ".join((module.intro, *module.sections))
    words = re.findall(r"\w+", html.unescape(re.sub(r"<[^>]*>", " ", marked_up)).lower())
    last = max(len(words) - SHINGLE, 0)
    return frozenset(tuple(words[start : start + SHINGLE]) for start in range(last + 1))


def resemblance(one: Module, two: Module) -> float:
    """Return Jaccard's resemblance of the two pages' shingles (Broder 1997)."""
    mine, theirs = shingles(one), shingles(two)
    return len(mine & theirs) / len(mine | theirs)


def lookalikes(library: Library) -> dict[str, set[str]]:
    """Return for each module those whose page resembles its own by at least `ALIKE`.

    All pairs are compared, less those whose sizes are too different: about a second for
    700 modules.
    """
    sets = {name: shingles(module) for name, module in library.items()}
    alike: dict[str, set[str]] = {name: set() for name in library}
    by_size = sorted(library, key=lambda name: len(sets[name]))
    for rank, name in enumerate(by_size):
        mine = sets[name]
        for other in by_size[rank + 1 :]:
            theirs = sets[other]
            if len(mine) < ALIKE * len(theirs):
                break
            shared = len(mine & theirs)
            if shared >= ALIKE * (len(mine) + len(theirs) - shared):
                alike[name].add(other)
                alike[other].add(name)
    return alike
