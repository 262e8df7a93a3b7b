"""How much of a job's memory is left for its data."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

_LEAST = 1 << 23
"""Minimum bytes to work in."""
_UNKNOWN = 100 << 20
"""Bytes that Python and its packages are taken to have where the system doesn't say."""


def left_of(memory: int, held: int) -> int:
    """Return how many of a process's `memory` bytes a step may take that holds `held` more."""
    return max(_LEAST, memory - _resident() - held)


def _resident() -> int:
    """Return the resident bytes of this process."""
    if sys.platform != "linux":
        return _UNKNOWN
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    import resource  # noqa: PLC0415  (no such module on Windows)

    return pages * resource.getpagesize()


def release() -> None:
    """Give memory that was freed back to the system, where its allocator keeps it (glibc)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  (10 ms)

        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
