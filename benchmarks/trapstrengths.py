"""How strong each trap of `trapsite` is; a field is an option of the command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "example_project"))
from docsite.site import BROKEN_PAGES, SHARES

FOOTERS = ("number", "timing", "sentence")
_FURNITURE = "nav, header, footer, aside"


def _trap(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class Traps:
    """The strengths; the shares of links are those of the example's site."""

    sid: float = _trap(SHARES["session id"], "share of links with a session id")
    utm: float = _trap(SHARES["campaign"], "share of links of a campaign")
    sort: float = _trap(SHARES["sort order"], "share of links to another order")
    print: float = _trap(SHARES["printable"], "share of links to a printable page")
    broken: float = _trap(BROKEN_PAGES, "share of pages with a link to a soft 404")
    growth: int = _trap(10, "soft 404s behind such a link")
    years: int = _trap(25, "years of the calendar")
    footer: str = _trap(
        "number", f"what changes on each response: some of {', '.join(FOOTERS)}, or none"
    )
    footer_tag: str = _trap("div", "the element that it stands in")
    furniture: str = _trap(
        "",
        "CSS selectors of the folder's own templates: known to the truth and to printable "
        "pages, never to the crawler",
    )
    seed: int = _trap(2007, "of all that is drawn")

    @property
    def furniture_selector(self) -> str:
        return ", ".join(filter(None, (_FURNITURE, self.furniture)))


PRESETS = {"notes": Traps(years=300, furniture=".navheader, .navfooter")}
"""What published figures refer to: a calendar of 300 years, and the templates of DocBook."""
