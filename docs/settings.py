"""Write the tables of settings into docs/settings.md, from the options themselves.

python docs/settings.py
"""
# ruff: noqa: INP001  (a script)

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scrapy_neardup.settings.catalogue import OPTIONS, Option

PAGE = Path(__file__).with_name("settings.md")
GROUPS = {
    "What is done about a near-duplicate": (
        "action", "enabled", "group_budget", "prefer", "keep_start", "start_depth", "keep_sitemap",
        "deny", "priority_adjust", "deprioritize_from",
    ),
    "What isn't fetched, or not delivered again": (
        "urls", "urls_explore", "pattern_budget", "links", "experiments", "probe", "seen",
    ),
    "How alike pages must be, and which are compared": (
        "preset", "titles", "min_resemblance", "scope", "ignore", "text", "min_tokens", "learn",
        "detect_language",
    ),
    "What is kept of pages, and where": (
        "store", "namespace", "expected_pages", "retention", "base", "store_urls", "hash_key",
    ),
    "Audit": ("audit", "audit_text"),
    "When something goes wrong": ("on_error", "timeout", "pending_timeout"),
}  # fmt: skip
"""Need -> its settings, those that are looked for first in front."""

OTHERS = "How near-duplicates are found"
"""Heading of all other settings: the method's parameters."""

_BEGIN, _END = "<!-- made by docs/settings.py -->\n", "<!-- end -->"


def with_tables(page: str) -> str:
    """Return the page with its tables made again; a setting that has a heading is linked to it."""
    headings = set(re.findall(r"^### (NEARDUP_\w+)$", page, re.MULTILINE))
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, OTHERS: tuple(name for name in OPTIONS if name not in grouped)}
    tables = (
        f"### {need}\n\n{''.join(_rows((OPTIONS[name] for name in names), headings))}\n"
        for need, names in groups.items()
    )
    before, _, rest = page.partition(_BEGIN)
    return before + _BEGIN + "\n" + "".join(tables) + _END + rest.partition(_END)[2]


def _rows(options: Iterable[Option], headings: set[str]) -> Iterator[str]:
    yield "| setting | |\n|---|---|\n"
    for option in options:
        name = f"`{option.setting}`"
        if option.setting in headings:
            name = f"[{name}](#{option.setting.lower()})"
        yield (
            f"| {name} | {_marked(option.help)} **Default:** `{option.default!r}`."
            f" **Values:** {_marked(option.kind.wanted)}. |\n"
        )


def _marked(sentence: str) -> str:
    return re.sub(r"\bNEARDUP_[A-Z_]+", r"`\g<0>`", sentence)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
