"""Pairs of pages that one real crawl trap served: found, and never across sites?

DIR holds a folder for each trap, and in it two pages or more, with the URL of each in
``NAME.info.json``. Pages of one folder are duplicates of each other. A trap's pages are met
in both orders by an empty store. Then the first pages of all traps go into one store, and the
second ones: a drop there is one across traps, and must not be one across sites.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from itertools import permutations, zip_longest
from pathlib import Path
from urllib.parse import urlsplit

from examples import main_content
from sites import exact, read_page
from trials import Reader, crawl, progress, seeded

from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.text import Content


@dataclass(frozen=True)
class Trapped:
    """A page that a trap served."""

    folder: str
    name: str
    url: str
    content: Content

    def __str__(self) -> str:
        return f"{self.folder}/{self.name[:8]}"


def read(root: Path) -> list[list[Trapped]]:
    """Return the pages of each trap."""
    traps: dict[Path, list[Trapped]] = {}
    for page in sorted(root.rglob("*")):
        if page.is_dir() or page.suffix in {".json", ".txt"}:
            continue
        said = page.with_name(f"{page.name}.info.json")
        trap = page.parent
        url = f"http://{trap.name}.test/{page.name}"
        if said.exists():
            url = json.loads(said.read_text())["url"]
        trapped = Trapped(trap.name, page.name, url, read_page(page.read_bytes()))
        traps.setdefault(trap, []).append(trapped)
    return list(traps.values())


def dropped(pages: list[Trapped], parameters: Parameters) -> list[tuple[Trapped, Trapped]]:
    """Return which pages are dropped when they are met in this order, and their matches."""
    reader = Reader(parameters, [page.content for page in pages], [page.url for page in pages])
    found = asyncio.run(crawl(reader, list(range(len(pages)))))
    return [(pages[number], pages[match.page_id]) for number, match in found.items()]


def report(root: Path, configurations: dict[str, Parameters], seeds: int) -> None:
    """Print what each configuration finds."""
    traps = [pages for pages in read(root) if len(pages) > 1]
    if not traps:
        raise SystemExit(f"--traps {root}: no folder in it holds two pages")
    print(f"\n{len(traps)} traps, {seeds} hash seeds, both orders")
    for label, parameters in configurations.items():
        judge(label, traps, parameters, seeds)


def judge(label: str, traps: list[list[Trapped]], parameters: Parameters, seeds: int) -> None:
    """Print what one configuration finds."""
    missed: Counter[tuple[Trapped, Trapped]] = Counter()
    across: Counter[tuple[Trapped, Trapped]] = Counter()
    pairs = seeds * sum(len(trap) * (len(trap) - 1) for trap in traps)
    for seed in range(seeds):
        progress(seed + 1, seeds)
        ours = seeded(parameters, seed)
        for trap in traps:
            kept = [pair for pair in permutations(trap, 2) if not dropped(list(pair), ours)]
            missed.update(tuple(sorted(pair, key=lambda page: page.name)) for pair in kept)
        for met in zip_longest(*traps):
            across.update(dropped([page for page in met if page], ours))
    foreign = [pair for pair in across if host(pair[0]) != host(pair[1])]
    print(f"{label}: {1 - missed.total() / pairs:.3f} of {pairs // seeds // 2} pairs found,"
          f" {len(foreign)} across sites,"
          f" {len(across) - len(foreign)} across traps of one site")  # fmt: skip
    for (a, b), times in missed.most_common():
        print(f"  missed in {times / seeds / 2:.0%}: {a} and {b}, {likeness(a, b)}")
    for a, b in foreign:
        print(f"  across in {across[a, b] / seeds:.0%}: {a} and {b}, {likeness(a, b)}")


def host(page: Trapped) -> str:
    """Return the host that served a page."""
    return urlsplit(page.url).netloc.lower().removeprefix("www.")


def likeness(a: Trapped, b: Trapped) -> str:
    """Return the exact resemblance of two pages, in the main text and the main content."""
    texts = [page.content.text for page in (a, b)]
    contents = [main_content(page.content) for page in (a, b)]
    lengths = " and ".join(str(len(text.split())) for text in texts)
    return f"J = {exact(*texts):.3f}, main content {exact(*contents):.3f}, {lengths} words"


def toy_traps(root: Path) -> None:
    """Write two traps of two pages each, for `--quick`."""
    for trap in "ab":
        (root / trap).mkdir()
        text = " ".join(f"{trap}{number}" for number in range(200))
        for page in "12":
            (root / trap / page).write_text(f"<p>{text}</p>")
            url = f"http://{trap}.test/{page}"
            (root / trap / f"{page}.info.json").write_text(json.dumps({"url": url}))
