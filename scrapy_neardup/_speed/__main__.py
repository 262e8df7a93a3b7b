"""Try the compiled modules and say in one line which run; with ``--all`` all must run.

Exit status: 1 if the package can't be imported, with ``--all`` also if one runs in pure Python.
"""

# ruff: noqa: T201  (what it prints is what it is for)

import logging
import sys

from scrapy_neardup._speed.kernels import KERNELS, tried

logging.getLogger("scrapy_neardup._speed").addHandler(logging.NullHandler())  # it's printed here
try:
    slow = tried()
except Exception as error:  # noqa: BLE001  (of whatever class)
    sys.exit(f"scrapy-neardup can't run: {error!r}. No crawl with it will start; install it again")
if not slow:
    print(f"scrapy-neardup runs compiled: {', '.join(KERNELS)}")
else:
    print(f"scrapy-neardup runs {'; '.join(slow)}. The verdicts are the same, more slowly")
    sys.exit("--all" in sys.argv[1:])
