"""Trying all compiled modules on their examples, for the command and the doctor."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from scrapy_neardup._speed import IS_PURE, REFUSED, load

KERNELS: Final[dict[str, tuple[str, ...]]] = {
    "batch": ("tables.batchsearch",),
    "counting": ("judge.boilerplate",),
    "features": (
        "judge.shingling", "fingerprints.batch", "fingerprints.independent",
        "fingerprints.minwise", "fingerprints.shingles", "fingerprints.simhashes",
    ),
    "hamming": ("tables.index",),
    "joins": ("offline.joins.setjoin", "offline.joins.tokensets"),
    "packed": ("tables.packed.elias_fano",),
    "tokens": ("fingerprints.hashing",),
    "walk": ("text.walk",),
}  # fmt: skip
"""Modules that can be compiled -> modules with their twins and examples."""


def tried() -> list[str]:
    """Try each compiled function on its example; return a sentence for each that isn't used.

    Raises any exception of importing a module of the package; then no crawl would start, either.
    """
    for owner in sorted(owner for owners in KERNELS.values() for owner in owners):
        import_module(f"scrapy_neardup.{owner}")
    if IS_PURE:
        return ["all in pure Python (NEARDUP_PURE=1)"]
    missing = [name for name in KERNELS if name not in REFUSED and load(name) is None]
    if len(missing) == len(KERNELS):
        return ["all in pure Python (no C compiler when it was installed)"]
    return [f"{name} in pure Python: it wasn't compiled" for name in missing] + [
        f"{name} in pure Python: {reason}" for name, reason in REFUSED.items()
    ]
