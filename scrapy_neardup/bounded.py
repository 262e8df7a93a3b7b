"""A dict of limited size, for knowledge that a crawl may forget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most `most` entries, which drops the oldest.

    `move_to_end` makes an entry the newest; setting the value of its key again doesn't.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        OrderedDict.__setitem__(self, key, value)  # `super()` would double the time
        if len(self) > self._most:
            self.popitem(last=False)

    def used(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, which becomes the newest; make it if it is missing."""
        if key in self:
            self.move_to_end(key)
        else:
            self[key] = make()
        return self[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._most,), None, None, iter(self.items())
