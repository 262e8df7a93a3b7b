"""What ``lua/evidence.lua`` needs to decide as `scrapy_neardup.evidence.decision` does.

Rule of this room: pure; nothing that decides is stated here, or there, a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

from scrapy_neardup.evidence import decision, layout
from scrapy_neardup.evidence.decision import Compared, Names, Rule
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.verdict import Page

_WEIGHING: Final = Struct("<d3B4H")
"""Share of the bins that may differ; whether titles are ignored, the site is young, the folder is;
bytes of changing places, constant places, common words, editions, which follow. Then, where there
is any, the planes of the page's furniture, and those of the furniture that it lacks."""
_MOST_BYTES: Final = 0xFFFF


def constants(matching: Matching) -> dict[str, str | int | float]:
    """Return the names that the script is about, and their values as Lua has them.

    Those of the two modules keep their names. Floats are written so that they are read as the
    same doubles.
    """
    size = min(4, matching.bins // 8) or 4
    words = matching.bins // 8 // size
    demands = (
        f"[{int(name)}]={{{','.join(map(repr, demand))}}}"
        for name, demand in decision.DEMANDS.items()
    )
    return {
        "EVIDENCE_HEAD": layout.HEAD.size,
        "MAX_TITLE_WORDS": layout.MAX_TITLE_WORDS,
        "MAX_TRACKED": layout.MAX_TRACKED,
        "BORDER": layout.BORDER,
        "NAMED": layout.NAMED,
        "LINKS": layout.LINKS,
        "OWNER_BITS": layout.OWNER_BITS,
        "BINS": matching.bins,
        "BITS": matching.bits,
        "PLANE_BYTES": matching.bins // 8,
        "PLANES_BYTES": (matching.bits + layout.OWNER_BITS) * matching.bins // 8,
        "WORDS": words,
        "PLANE": f"'<{f'I{size}' * words}'",
        "FULL": 2 ** (8 * size) - 1,
        "EQUAL": decision.EQUAL,
        "MIN_BITS": decision.MIN_BITS,
        "MIN_TELLING": decision.MIN_TELLING,
        "DEMANDS": f"{{{','.join(demands)}}}",
        "NAMES": f"{{{','.join(f'{name.name}={int(name)}' for name in Names)}}}",
        "RULE": "{" + ",".join(f"{rule.name}='{rule}'" for rule in Rule) + "}",
    }


def weighing(page: Page, matching: Matching) -> bytes:
    """Return the `Weighing` of `page`, packed; ``b""`` where nothing has to be confirmed."""
    if not (matching.bins and page.evidence):
        return b""
    known = page.weighing
    most = (1 - known.min_resemblance) * (1 - 2.0**-matching.bits)
    planes: list[int] = []
    if len(page.evidence) > layout.HEAD.size and known.furniture is not None:
        planes.append(known.furniture.plane())
        if (lacked := known.furniture.lacked(matching.bits)) is not None:
            planes += lacked[0], *lacked[1]
        if known.furniture.is_most():
            most = 0.0
    sets = [
        *(_packed(words, 2) for words in (known.changing, known.constant, known.common)),
        _packed(known.editions, 4),
    ]
    flags = known.titles == "ignore", known.young_site, known.young_folder
    packed = (plane.to_bytes(matching.bins // 8, "little") for plane in planes)
    return b"".join([_WEIGHING.pack(most, *flags, *map(len, sets)), *sets, *packed])


def evidence(page: Page, matching: Matching) -> bytes:
    """Return what is stored of `page` to confirm that others repeat it."""
    return page.evidence if matching.bins else b""


def resembling(counts: Sequence[int], bits: int) -> float | None:
    """Return the resemblance from the counts of texts and cores; None where there are none."""
    if not counts:
        return None
    text, of_text, core, of_core = counts
    return Compared((text, of_text), (core, of_core), (0, 0)).resemblance(bits)


def _packed(numbers: Iterable[int], size: int) -> bytes:
    """Return distinct numbers of `size` bytes, as many as fit."""
    words = b"".join(number.to_bytes(size, "little") for number in numbers)
    return words[: _MOST_BYTES // size * size]
