"""Write the tables of settings into docs/settings.md, from the options themselves.

python docs/settings.py
"""
# ruff: noqa: INP001  (a script)

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scrapy_neardup.options import Crawling, Judging, Option, options_of

PAGE = Path(__file__).with_name("settings.md")
TABLES = {"crawling": Crawling, "judging": Judging}


def with_tables(page: str) -> str:
    """Return the page with its tables made again; a setting that has a heading is linked to it."""
    headings = set(re.findall(r"^### (NEARDUP_\w+)$", page, re.MULTILINE))
    for name, table in TABLES.items():
        rows = "".join(_rows(options_of(table).values(), headings))
        begin, end = f"<!-- {name}: made by docs/settings.py -->\n", "<!-- end -->"
        before, _, rest = page.partition(begin)
        page = before + begin + rows + end + rest.partition(end)[2]
    return page


def _rows(options: Iterable[Option], headings: set[str]) -> Iterator[str]:
    yield "| setting | default | values | meaning |\n|---|---|---|---|\n"
    for option in options:
        name = f"`{option.setting}`"
        if option.setting in headings:
            name = f"[{name}](#{option.setting.lower()})"
        cells = name, f"`{option.default!r}`", option.kind.wanted, _marked(option.help)
        yield f"| {' | '.join(cells)} |\n"


def _marked(sentence: str) -> str:
    return re.sub(r"\bNEARDUP_[A-Z_]+", r"`\g<0>`", sentence)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
