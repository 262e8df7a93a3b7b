"""The text of the scripts for a layout: their parts, with values in place of constants. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from scrapy_neardup.decision.evidence import stored_size
from scrapy_neardup.stores.base import MAX_COMPARED, MAX_EQUAL, MAX_UNDER_FEATURE
from scrapy_neardup.stores.redis.codec import TAG_BYTES
from scrapy_neardup.stores.redis.keyspace import PAGE_DEPTH, Layout
from scrapy_neardup.tables.design import masks_within

_WHEN_NEEDED: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "changing": (
        ("buckets/changes", "single/changes", "probe/remember"),
        "{ rewrite = rewrite, withdraw = withdraw, remember = remember }",
    )
}
"""Part -> the parts that it is made of, and what the function returns that defines them."""

MAX_ASKED: Final = 4
"""Maximum number of candidates in the first reply of one Redis about a page. Of 233 duplicates on
six sites all but 6 repeat the first."""

MAX_ASKED_NEXT: Final = 16
"""The same in any other reply. Each call looks for all candidates again."""


def script(layout: Layout, *parts: str, record: str) -> str:
    """Return the text of a script for this layout: its parts, the verb last.

    `record` is the digest of the namespace's parameters (`namespace.py`): scripts of crawls with
    other parameters differ by it, so that neither finds the other's on a server.
    """
    return _of_any_record(layout, parts).replace("RECORD_DIGEST", f"'{record}'")


@lru_cache(maxsize=128)
def _of_any_record(layout: Layout, parts: tuple[str, ...]) -> str:
    """Return the text of a script with the name of the record's digest in place of its value."""
    trees = ",".join(f"'t{number}:'" for number in range(1, len(layout.tables) + 1))
    sketch = layout.matching.sketch
    values = {
        "TABLES": len(layout.prefixes),
        "PARTS": layout.compared,
        "TREES": f"{{{trees}}}",
        "EARLIER": f"({layout.earlier})",
        "UNSEEN": f"{{{','.join(map(str, layout.unseen))}}}",
        "RADIUS": f"{{{','.join(str(table.radius) for table in layout.tables)}}}",
        "FLIPS": "'" + "".join(f"\\{mask}" for mask in masks_within(0xFF, 2)) + "'",
        "DEPTH": layout.depth,
        "PAGE_DEPTH": PAGE_DEPTH,
        "SPLIT": layout.split,
        "CAP": layout.cap,
        "MAX_ASKED": MAX_ASKED,
        "MAX_ASKED_NEXT": MAX_ASKED_NEXT,
        "MAX_COMPARED": MAX_COMPARED,
        "MAX_EQUAL": MAX_EQUAL,
        "MAX_UNDER_FEATURE": MAX_UNDER_FEATURE,
        "BY_DISTANCE": str(layout.matching.by_distance).lower(),
        "HAS_BODIES": str(layout.has_bodies).lower(),
        "FEATURES": layout.matching.features,
        "SHARED_FEATURES": layout.matching.shared_features,
        "TAG_BYTES": TAG_BYTES,
        "EVIDENCE_BYTES": stored_size(sketch) if sketch else 0,
    }
    used = [part for part in parts if part != "single/bodies" or layout.has_bodies]
    texts = [_part("buckets/buckets"), *map(_part, used)]
    if "single/pages" in parts:
        texts.insert(0, permuting(layout))
    return _nested([_with_constants(text, values) for text in texts])


def permuting(layout: Layout) -> str:
    """Lua functions ``permuted(i, key)`` and ``original(i, key in the order of table i)``.

    Straight-line code for each table: interpreting a permutation took 12 µs a key.
    """
    forward, backward = [], []
    for permutation in layout.permutations:
        moves = list(enumerate(reversed(permutation.order)))
        forward.append([(source, target) for target, source in moves])
        backward.append(moves)
    return _chain("permuted", forward) + _chain("original", backward)


def _with_constants(text: str, values: Mapping[str, object]) -> str:
    """Return a part of a script with the values of its constants in place of their names.

    Tables are locals, as each mention of a literal would make the table again; one in parentheses
    is made where it is mentioned.
    """
    written = {name: str(value) for name, value in values.items()}
    longest_first = map(re.escape, sorted(written, key=len, reverse=True))
    names = re.compile(rf"(?<![\w.])(?:{'|'.join(longest_first)})\b")
    tables = {name for name in names.findall(text) if written[name].startswith("{")}
    head = "".join(f"local {name} = {written[name]}\n" for name in sorted(tables))
    return head + names.sub(lambda name: name[0] if name[0] in tables else written[name[0]], text)


def _nested(parts: list[str]) -> str:
    """Return parts of a script, each as a function within the one before it.

    Lua looks for each local that a closure captures among all that were captured in the same
    function, one after the other, and for those of an outer function not at all.
    """
    return "\nreturn (function()\n".join(parts) + "\nend)()" * (len(parts) - 1)


def _chain(name: str, tables: list[list[tuple[int, int]]]) -> str:
    branches = "".join(
        f"  {'if' if i == 1 else 'elseif'} i == {i} then\n"
        f"    return struct.pack('>I4I4', {_half(moves, 32)}, {_half(moves, 0)})\n"
        for i, moves in enumerate(tables, 1)
    )
    head = f"local function {name}(i, f)\n  local h, l = struct.unpack('>I4I4', f)\n"
    return f"{head}{branches}  end\nend\n"


def _half(moves: list[tuple[int, int]], low: int) -> str:
    """Return a Lua expression for bits `low` to ``low + 31`` of what `moves`, (from, to), make.

    Bits that travel equally far are moved in one step.
    """
    steps: dict[tuple[str, int], int] = {}
    for source, target in moves:
        if low <= target < low + 32:
            step = "h" if source >= 32 else "l", target % 32 - source % 32
            steps[step] = steps.get(step, 0) | 1 << source % 32
    words = [
        f"bit.{'l' if far > 0 else 'r'}shift(bit.band({half},{mask}),{abs(far)})"
        for (half, far), mask in steps.items()
    ]
    return f"bit.bor({','.join(words)})%4294967296"


@cache
def _sections(file: str) -> dict[str, str]:
    """Return the sections of a file of ``lua/`` by their headings, lines ``-- ==== NAME ====``."""
    text = files("scrapy_neardup.stores.redis").joinpath(f"lua/{file}.lua").read_text("utf-8")
    _, *parts = re.split(r"^-- ==== (\w+) =+\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _source(name: str) -> str:
    """Return a section; its name is that of its file, a slash and its heading."""
    file, _, section = name.partition("/")
    return _sections(file)[section]


@cache
def _part(name: str) -> str:
    """Return a part of a script; those that few pages need become a function that makes them."""
    if name in _WHEN_NEEDED:
        parts, made = _WHEN_NEEDED[name]
        text = "".join(map(_source, parts))
        return f"local function {name}_functions()\n{text}return {made}\nend\n"
    return _source(name)


OPEN_SCRIPT = _source("namespace/open")
EXCHANGE_SCRIPT = _source("namespace/exchange")
WEIGH_SCRIPT = _source("namespace/weigh")
