"""What a crawl learns and may forget: a dict that keeps its newest entries.

Rule of this module: nothing that a verdict must not lose is kept so; stores keep that.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(OrderedDict[K, V]):
    """A dict of at most `most` entries, which lets go of the oldest.

    An entry is as old as its key, whatever was set for it since; `move_to_end` makes it new.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            self.popitem(last=False)
