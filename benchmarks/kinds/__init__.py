"""Kinds of made-up sites with known truth, one function each, in modules by subject.

`kinds.site` says how a site is written and asked; `kinds.crawls` crawls it, and says what came of
it. Each module registers its kinds when it is imported.
"""

from kinds import (  # noqa: F401
    accounts,
    browsing,
    changing,
    effectless,
    names,
    nothing,
    paths,
    rare,
    records,
    responses,
    sections,
)
from kinds.site import KINDS

__all__ = ["KINDS"]
