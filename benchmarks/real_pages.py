"""Real pages for the benchmarks of cost: a sample of each folder that a command line names.

Without a folder, the pages of the example (`example_project`) stand in for one. Which code has
read a page is printed with every figure: the optional compiled extension, or pure Python.
"""

import random
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.machinery import ExtensionFileLoader
from itertools import count, product
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from harness import arguments, html_files, scratch

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
        doc, "site", pages=(400, "sampled of each site"), rounds=5, quick=quick,
        preset=["paper", "compact", "best"],
        store=(["memory:"], "memory:, sqlite, redis (a server is started)"),
        pure=(False, "the pure code as well, beside the compiled extension"),
    )  # fmt: skip


@contextmanager
def setting(options: Namespace) -> Iterator[tuple[list[Path], dict[Contestant, Iterator[str]]]]:
    """Yield the folders of a command line, and for each contestant a URI of its store a run.

    A Redis server is started where one is wanted.
    """
    with scratch() as work, ExitStack() as stack:
        uris = {"sqlite": f"sqlite:{work}/run-{{}}.db"}
        if "redis" in options.store:
            from redis_servers import RedisServer

            uris["redis"] = stack.enter_context(RedisServer()).uri
        runs, ways = count(), [False, True] if options.pure else [False]

        def stores(uri: str) -> Iterator[str]:
            return (uri.format(run) for run in runs)

        yield (
            options.site or [example_site(work, options.pages)],
            {
                (one := Contestant(*each)): stores(uris.get(one.store, one.store))
                for each in product(options.preset, options.store, ways)
            },
        )


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
