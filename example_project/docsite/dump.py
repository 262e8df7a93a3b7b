"""Print the documentation of the standard library as JSON lines, one module a line.

It runs in an interpreter of its own (`docsite.library` starts it), as
pydoc imports what it documents; it uses nothing but the standard library, and what it
prints is the same on every run of one Python, on every machine.

A line is ``{"name", "summary", "intro", "sections"}``. Sections are HTML; the entries of
a section that can be sorted stand between ``<!--entry-->`` and ``<!--/entry-->``. What
can't be imported here (other systems' modules, missing libraries) is left out.
"""

from __future__ import annotations

import html
import inspect
import json
import os
import pkgutil
import pydoc
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

ENTRY = re.compile("<!--entry-->(.*?)<!--/entry-->", re.DOTALL)
SECTION = "<!--section-->"
_ADDRESS = re.compile(r"(\b(?:at|handle)(?:&nbsp;| ))(?:0x)?[0-9a-fA-F]{6,}")

# Importing them opens a browser or a window, or prints; `test` is Python's own tests. Many
# systems package tkinter apart, so a site without it is alike on more machines.
SKIPPED = re.compile(
    r"(^|\.)(__main__|__hello__|__phello__|antigravity|this|tests?|idlelib|turtledemo|turtle"
    r"|_?tkinter)(\.|$)"
)


class SiteDoc(pydoc.HTMLDoc):
    """pydoc's HTML with the seams marked, and without a trace of this machine."""

    _depth = 0

    def document(self, object: object, name: str | None = None, *args: object) -> str:  # noqa: A002  (pydoc's name)
        self._depth += 1
        try:
            text = super().document(object, name, *args)
        finally:
            self._depth -= 1
        return f"<!--entry-->{text}<!--/entry-->" if self._depth == 1 else text

    def heading(self, title: str, *_: object) -> str:
        return f"<h1>{title}</h1>\n"

    def bigsection(self, title: str, *args: object) -> str:
        return SECTION + super().bigsection(title, *args)


def anonymous(text: str) -> str:
    """Return `text` without memory addresses and without this machine's directories."""
    text = _ADDRESS.sub(r"\g<1>0", text)
    for place, shown in _places():
        text = text.replace(place, shown)
    return text


def module_names() -> Iterator[str]:
    """Yield the names of the standard library's modules and their submodules, sorted."""
    for name in sorted(sys.stdlib_module_names):
        if not SKIPPED.search(name):
            yield from _with_submodules(name)


def describe(module: ModuleType, doc: SiteDoc) -> dict[str, object]:
    intro, *sections = anonymous(doc.document(module)).split(SECTION)
    summary = pydoc.splitdoc(inspect.getdoc(module) or "")[0]
    return {"name": module.__name__, "summary": summary, "intro": intro, "sections": sections}


def _with_submodules(name: str) -> Iterator[str]:
    yield name
    module = _imported(name)
    for child in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        if not SKIPPED.search(child.name):
            yield from _with_submodules(child.name)


def _imported(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except Exception:  # noqa: BLE001  (whatever a module of another system raises)
        return None


@cache
def _places() -> list[tuple[str, str]]:
    """Return this machine's directories and what is shown instead, the longest first."""
    places = {
        str(Path(os.__file__).parent): "lib",
        **dict.fromkeys((sys.executable, sys.orig_argv[0]), "python"),
        sys.argv[0]: "dump.py",
        **dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix), "python"),
    }
    with suppress(RuntimeError):  # a user without a home, as in many containers
        places[str(Path.home())] = "~"
    places |= {html.escape(place): shown for place, shown in places.items()}
    known = (pair for pair in places.items() if len(pair[0]) > 1)  # a home may be "/"
    return sorted(known, key=lambda pair: -len(pair[0]))


def main(names: list[str]) -> None:
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some modules print when imported
    doc = SiteDoc()
    for name in names or module_names():
        module = _imported(name)
        if module is not None and module.__name__ == name:  # os.path is posixpath
            print(json.dumps(describe(module, doc)), file=output, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
