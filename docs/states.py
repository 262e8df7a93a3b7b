"""Draw the state machines of the package in the docs, from their tables of transitions.

python docs/states.py
"""
# ruff: noqa: INP001  (a script)

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from scrapy_neardup.claims import claim
from scrapy_neardup.crawl import circuitbreaker, pagestate

DRAWN = {"scrapy.md": pagestate, "reliability.md": circuitbreaker, "urls.md": claim}
"""Page of the docs -> the module whose `TRANSITIONS` are drawn there."""

_DRAWING = re.compile(r"(?<=<!-- made by docs/states.py -->\n).*?(?=<!-- end -->)", re.DOTALL)


def drawing(transitions: Mapping[tuple[StrEnum, StrEnum], StrEnum]) -> str:
    """Return the transitions as lines of text: state, event, next state."""
    wide = max(len(state) for state, _ in transitions)
    long = max(len(event) for _, event in transitions)
    lines, before = [], ""
    for (state, event), after in transitions.items():
        name = "" if state == before else state
        lines.append(f"{name:{wide}} ── {event} {'─' * (long - len(event))}──> {after}")
        before = state
    return "```text\n" + "\n".join(lines) + "\n```\n"


def with_drawing(name: str) -> str:
    """Return a page of the docs with its drawing made again."""
    page = Path(__file__).with_name(name).read_text()
    return _DRAWING.sub(lambda _: drawing(DRAWN[name].TRANSITIONS), page)


if __name__ == "__main__":
    for each in DRAWN:
        Path(__file__).with_name(each).write_text(with_drawing(each))
