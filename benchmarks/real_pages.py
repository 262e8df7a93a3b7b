"""Real pages for the benchmarks of cost: a sample of each folder that a command line names.

Without a folder, the pages of the example (`example_project`) stand in for one. Which code has
read a page is printed with every figure: the optional compiled extension, or pure Python.
"""

import random
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote

from harness import arguments, html_files

SEED = 2007


class Contestant(NamedTuple):
    """How pages are judged; not at all where there is no preset."""

    preset: str = ""
    store: str = ""
    pure: bool = False

    def __str__(self) -> str:
        return " ".join(filter(None, (self.preset, self.store, "pure" * self.pure))) or "without"


def options_of(doc: str | None, quick: dict[str, int]) -> Namespace:
    return arguments(
        doc,
        "site",
        pages=(400, "sampled of each site"),
        rounds=5,
        preset=["paper", "compact", "best"],
        store=(["memory:"], "memory:, sqlite, redis (a server is started)"),
        pure=(False, "the pure code as well, beside the compiled extension"),
        quick=quick,
    )


@contextmanager
def setting(options: Namespace) -> Iterator[tuple[list[Path], dict[Contestant, Iterator[str]]]]:
    """Yield the folders of a command line, and for each contestant a URI of its store a run.

    A Redis server is started where one is wanted.
    """
    with TemporaryDirectory() as scratch:
        folders = options.site or [example_site(Path(scratch), options.pages)]
        uris = {"memory:": "memory:", "sqlite": f"sqlite:{scratch}/{{}}.db"}
        ways = [False, True] if options.pure else [False]
        named = [Contestant(*each) for each in product(options.preset, options.store, ways)]
        runs = count()

        def stores(uri: str) -> Iterator[str]:
            while True:
                yield uri.format(f"run-{next(runs)}")

        def found() -> dict[Contestant, Iterator[str]]:
            return {one: stores(uris.get(one.store, one.store)) for one in named}

        if "redis" not in options.store:
            yield folders, found()
            return
        from redis_servers import RedisServer

        with RedisServer() as server:
            uris["redis"] = server.uri
            yield folders, found()


def example_site(folder: Path, most: int) -> Path:
    """Write pages of the example's site into a folder."""
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
    found = html_files(folder)
    drawn = sorted(random.Random(SEED).sample(found, min(count, len(found))))
    return {"/" + quote(str(path.relative_to(folder))): path.read_bytes() for path in drawn}


def way_taken() -> str:
    compiled = (
        isinstance(module.__spec__.loader, ExtensionFileLoader)
        for name, module in tuple(sys.modules.items())
        if name.startswith("scrapy_neardup.") and module.__spec__ is not None
    )
    return "compiled" if any(compiled) else "pure"
