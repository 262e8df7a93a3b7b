"""The sites that a benchmark's command line names."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sites import Source, load


def toy_site(folder: Path) -> Path:
    """Write a small site with known near-duplicates, for `--quick`."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(2000)]
    root = folder / "toy"
    root.mkdir()
    for number in range(60):
        body = chance.choices(words, k=chance.randint(100, 400))
        for variant in range(1 + number % 3):
            said = " ".join([*body, "variant", str(variant)])
            (root / f"{number:03}-{variant}.html").write_text(
                f"<title>Page {number}</title><nav>{' '.join(words[:30])}</nav><p>{said}</p>"
            )
    return root


def add_site_options(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark's command line name sites."""
    parser.add_argument("site", nargs="*", type=Path, help="folder of HTML pages")
    parser.add_argument("--truth", type=Path, help="folder of NAME.{pages,pairs}.tsv.gz;"
                        " without it the truth is computed")  # fmt: skip
    parser.add_argument("--no-templates", action="store_true", help="compute it from the full"
                        " text, less the lines of templates")  # fmt: skip
    parser.add_argument("--cache", type=Path, default=Path(".cache/quality"),
                        help="folder for what was read")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a made-up site: does it work?")


@contextmanager
def named(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[list[Source]]:
    """Yield the sites of a command line, read; `--quick` makes one up for so long."""
    if not (options.site or options.quick or getattr(options, "traps", None)):
        parser.error("name at least one folder of pages, or --quick")
    with TemporaryDirectory() as scratch:
        if options.quick:
            options.site, options.truth = [toy_site(Path(scratch))], None
            options.cache = Path(scratch)
        sources = []
        for folder in options.site:
            if not folder.is_dir():
                parser.error(f"{folder} is no folder")
            source = Source(
                folder,
                options.truth,
                options.cache,
                view=getattr(options, "text", "main"),
                stress=getattr(options, "stress", None),
                templates=not options.no_templates,
            )
            if sys.stderr.isatty():
                print(f"reading {folder.name} ...", file=sys.stderr)
            load(source)
            sources.append(source)
        yield sources
