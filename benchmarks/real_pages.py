"""Real pages for the benchmarks of cost: a sample of each folder that a command line names.

Without a folder, the pages of the example (`example_project`) stand in for one. Which code has
read a page is said with every figure: the optional compiled extension, or pure Python.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

EXAMPLE = Path(__file__).resolve().parent.parent / "example_project"
SEED = 2007
SUFFIXES = {".html", ".htm"}

COMPILED, PURE = "compiled", "pure"
"""Ways to read a page. Where no extension is built, pure Python is the only one."""
PURE_VARIABLE = "NEARDUP_PURE"
"""Environment variable that switches the extension off."""


def add_page_options(parser: argparse.ArgumentParser, *, pages: int, rounds: int) -> None:
    """Let a benchmark's command line name sites, and how much of them is measured."""
    parser.add_argument("site", nargs="*", type=Path, help="folder of HTML pages; default: the"
                        " pages of the example")  # fmt: skip
    parser.add_argument("--pages", type=int, default=pages, help="sampled of each site")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--preset", nargs="+", default=["paper", "compact", "best"])
    parser.add_argument("--store", nargs="+", default=["memory:"],
                        help="memory:, sqlite, redis (a server is started)")  # fmt: skip
    parser.add_argument("--pure", action="store_true",
                        help="the pure code as well, beside the compiled extension")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="little, to see that it works")


@contextmanager
def sites(options: argparse.Namespace) -> Iterator[list[Path]]:
    """Yield the folders of a command line, or one with the pages of the example."""
    with TemporaryDirectory() as scratch:
        yield options.site or [example_site(Path(scratch), options.pages)]


def example_site(folder: Path, most: int) -> Path:
    """Write pages of the example's site into a folder."""
    sys.path.insert(0, str(EXAMPLE))
    from docsite import library
    from docsite.site import Site

    modules = library.load()
    site = Site(modules)
    root = folder / "example"
    root.mkdir()
    for name in random.Random(SEED).sample(sorted(modules), min(most, len(modules))):
        (root / f"{name}.html").write_text(site.page(f"/module/{name}/"), "utf-8")
    return root


def sample(folder: Path, count: int) -> dict[str, bytes]:
    """Return path and bytes of pages drawn from a site, in the site's own order."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink()
    )
    drawn = sorted(random.Random(SEED).sample(found, min(count, len(found))))
    return {"/" + quote(str(path.relative_to(folder))): path.read_bytes() for path in drawn}


def environment(way: str) -> dict[str, str]:
    """Return the environment of a process that reads pages this way."""
    kept = {name: value for name, value in os.environ.items() if name != PURE_VARIABLE}
    return kept | ({PURE_VARIABLE: "1"} if way == PURE else {})


def way_taken() -> str:
    """Return which way pages are read in this process, once the package is imported."""
    compiled = (
        isinstance(module.__spec__.loader, ExtensionFileLoader)
        for name, module in tuple(sys.modules.items())
        if name.startswith("scrapy_neardup.") and module.__spec__ is not None
    )
    return COMPILED if any(compiled) else PURE


@contextmanager
def store_uris(kinds: list[str], folder: Path) -> Iterator[dict[str, str]]:
    """Yield a URI for each kind of store; what is in braces is made again for each run.

    A Redis server is started where one is wanted.
    """
    uris = {"memory:": "memory:", "sqlite": f"sqlite:{folder}/{{run}}.db"}
    if "redis" not in kinds:
        yield {kind: uris.get(kind, kind) for kind in kinds}
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
    from redis_servers import RedisServer

    with RedisServer() as server:
        uris["redis"] = server.uri
        yield {kind: uris.get(kind, kind) for kind in kinds}
