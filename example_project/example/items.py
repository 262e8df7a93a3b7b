"""What the spider takes from a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DocPage:
    url: str
    title: str
    links: list[str]
