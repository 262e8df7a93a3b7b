"""The documentation that every Python carries, rendered once and cached.

`load` is the only way in; nothing else knows where the cache lies.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "example"
_DUMP = Path(__file__).with_name("dump.py")


@dataclass(frozen=True, slots=True)
class Module:
    """The documentation of one module; see `docsite.dump` for the HTML in it."""

    name: str
    summary: str
    intro: str
    sections: tuple[str, ...]


Library = dict[str, Module]


def load(
    names: Sequence[str] = (),
    *,
    cache: Path = CACHE,
    progress: Callable[[int, str], None] = lambda _count, _name: None,
) -> Library:
    """Return the documentation of the modules `names`, or of the whole standard library.

    The first call of a Python version takes about 15 seconds, later ones half a second.
    """
    made_by = f"{sys.version}\n{_DUMP.read_text('utf-8')}\n{' '.join(names)}"
    version = ".".join(map(str, sys.version_info[:3]))
    file = cache / f"pydoc-{version}-{hashlib.sha256(made_by.encode()).hexdigest()[:12]}.jsonl"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")  # so that a broken run leaves no cache
        _render(names, part, progress)
        part.replace(file)
    with file.open(encoding="utf-8") as lines:
        modules = (_module(line) for line in lines)
        return {module.name: module for module in modules}


def _render(names: Sequence[str], file: Path, progress: Callable[[int, str], None]) -> None:
    # -S and -P: only the standard library can be imported; an empty environment and a
    # fixed hash seed: pydoc shows os.environ, and sets in the order of their hashes.
    command = [sys.executable, "-P", "-s", "-S", "-W", "ignore", str(_DUMP), *names]
    environment = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    last = "(none)"
    with (
        file.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            command, env=environment, cwd="/", text=True, encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process,
    ):  # fmt: skip
        for count, line in enumerate(process.stdout or (), 1):
            last = _module(line).name
            output.write(line)
            progress(count, last)
    if process.returncode:
        file.unlink()
        raise RuntimeError(
            f"pydoc stopped with status {process.returncode} after module {last}; to see why, "
            f"run: {' '.join(command)} > {os.devnull}"
        )


def _module(line: str) -> Module:
    record = json.loads(line)
    return Module(record["name"], record["summary"], record["intro"], tuple(record["sections"]))
