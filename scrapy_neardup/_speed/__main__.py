"""Say in one line which modules are compiled; with ``--all`` it is an error if one is not."""

# ruff: noqa: T201  (what it prints is what it is for)

import sys

from scrapy_neardup._speed import IS_PURE, NAMES, load

built = [] if IS_PURE else [name for name in NAMES if load(name) is not None]
if built == list(NAMES):
    print(f"scrapy-neardup runs compiled: {', '.join(built)}")
elif built:
    missing = ", ".join(name for name in NAMES if name not in built)
    print(f"scrapy-neardup runs compiled: {', '.join(built)}; in pure Python: {missing}")
else:
    why = "NEARDUP_PURE=1" if IS_PURE else "no C compiler when it was installed"
    print(f"scrapy-neardup runs in pure Python ({why}): the same verdicts, more slowly")
if "--all" in sys.argv[1:] and built != list(NAMES):
    sys.exit(1)
