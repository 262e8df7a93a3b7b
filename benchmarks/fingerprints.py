"""Tree to text and text to fingerprint: what they cost, next to what else one would take.

Pages are those that the standard library writes about its own modules (pydoc), framed by
navigation, header and footer. Both sides take turns, several calls each, and the ratio is
the median of the turns' ratios:

* text: `Extractor` on the tree that Scrapy has parsed anyway, against a pass of
  BeautifulSoup (parser lxml), which is what reads text from the page otherwise;
* simhash of word 3-shingles, from text to number: ours against PyPI `simhash` with the
  same shingles for features.

Answers are checked before anything is timed: both texts hold the same letters; a text has
the same fingerprint each time it comes, the one that voting bit by bit in plain Python
gives, and is within 3 bits when one of its words changes.

    python benchmarks/fingerprints.py
    python benchmarks/fingerprints.py --quick
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scrapy_neardup import _speed
from scrapy_neardup.fingerprints import (
    features,
    hamming_distance,
    simhash,
    simhash_features,
    token_hashes,
)
from scrapy_neardup.text import Extractor, normalize, parse_html

try:
    from bs4 import BeautifulSoup
    from simhash import Simhash
except ImportError as missing:
    sys.exit(f"{missing}: install the peers with  pip install 'scrapy-neardup[bench]'")

MODULES = [
    *("argparse", "bisect", "calendar", "cmd", "codecs", "csv", "datetime", "decimal", "difflib"),
    *("email", "enum", "fractions", "functools", "gzip", "heapq", "html", "inspect", "io", "json"),
    *("logging", "math", "os", "pathlib", "pickle", "random", "re", "shutil", "socket", "sqlite3"),
    *("statistics", "string", "tarfile", "textwrap", "typing", "unittest", "zipfile"),
]
MENU = "".join(f'<li><a href="/{n}">Entry {n} of the menu</a></li>' for n in range(30))
FRAME = (
    "<!DOCTYPE html><html><head><title>{title}</title><style>p {{}}</style></head><body>"
    "<header><h1>The site</h1></header><nav><ul>" + MENU + "</ul></nav>"
    "<main>{body}</main><script>track()</script>"
    "<footer><p>Printed on paper that grew on trees</p></footer></body></html>"
)
FURNITURE = ["script", "style", "template", "noscript", "head", "nav", "footer"]
TARGET_TOKENS = 1_000
TARGET_RATIO = 8 if _speed.load("features") is None else 20
"""How many times as fast as PyPI `simhash`: in numpy, and compiled."""


def pages(count: int) -> list[str]:
    """Return pages about `count` modules, written by pydoc in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pydoc", "-w", *MODULES[:count]]
        subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        written = sorted(Path(folder).glob("*.html"))
        bodies = [path.read_text(encoding="utf-8").partition("<body>")[2] for path in written]
    names = [path.stem for path in written]
    return [FRAME.format(title=t, body=b) for t, b in zip(names, bodies, strict=True)]


def by_beautiful_soup(page: str) -> str:
    """Return the text of a page without its furniture, the usual way."""
    soup = BeautifulSoup(page, "lxml")
    for element in soup(FURNITURE):
        element.decompose()
    return soup.get_text(" ")


def by_peer(text: str) -> int:
    """Return PyPI simhash's fingerprint of the text's word 3-shingles."""
    words = re.findall(r"[^\W_]+", text.lower())
    return int(Simhash({" ".join(words[i : i + 3]) for i in range(len(words) - 2)}).value)


def vote(text: str) -> int:
    """Return the simhash of a text by its definition, one feature and one bit at a time."""
    hashes = features(token_hashes(text))[0].tolist()
    sums = [sum(1 if h >> bit & 1 else -1 for h in hashes) for bit in range(64)]
    return sum((total > 0) << bit for bit, total in enumerate(sums))


def check_text(corpus: list[str]) -> None:
    """Require that both ways to read a page find the same letters."""
    extractor = Extractor()
    for page in corpus:
        ours = normalize(extractor.extract(parse_html(page)).text)
        theirs = normalize(by_beautiful_soup(page))
        # Not the same words: get_text(" ") parts words at every element within them.
        if b"".join(ours.split()) != b"".join(theirs.split()):
            raise SystemExit(f"the texts of {page[:80]!r} differ")


def check_simhash(text: str) -> None:
    """Require the right fingerprint, the same each time, near that of a near-duplicate."""
    words = text.split()
    place = len(words) // 3
    changed = " ".join([*words[:place], "changed", *words[place + 1 :]])
    fingerprint = simhash(text)
    assert fingerprint == simhash(" ".join(words).upper()) == vote(text)
    assert fingerprint == simhash_features(*features(token_hashes(text)))
    assert hamming_distance(fingerprint, simhash(changed)) <= 3
    assert hamming_distance(fingerprint, simhash(" ".join(reversed(words)))) > 3


def race(
    ours: Callable[[], object], theirs: Callable[[], object], turns: int, calls: int = 1
) -> list[float]:
    """Run both in turns; return the median seconds of a call of each, and of a turn's ratio."""
    taken = []
    for _ in range(turns + 1):
        seconds = []
        for function in (ours, theirs):
            start = time.perf_counter()
            for _ in range(calls):
                function()
            seconds.append((time.perf_counter() - start) / calls)
        taken.append((*seconds, seconds[1] / seconds[0]))
    return [statistics.median(column) for column in zip(*taken[1:], strict=True)]  # 1 to warm up


def main() -> None:
    """Check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few pages and turns only")
    parser.add_argument("--turns", type=int, help="how often each is timed (default: 21)")
    options = parser.parse_args()
    turns = options.turns or (3 if options.quick else 21)
    corpus = pages(4 if options.quick else len(MODULES))
    roots = [parse_html(page) for page in corpus]
    extractor = Extractor()
    texts = [extractor.extract(root).text for root in roots]
    words = normalize("\n".join(texts)).decode().split()
    check_text(corpus)

    count = len(corpus)
    size = sum(map(len, corpus)) // count // 1000
    print(f"{count} pages of {size} kB and {len(words) // count} tokens on average, {turns} turns")
    print(f"{'':24}{'ours':>12}{'peer':>12}{'ratio':>8}")
    ours, theirs, ratio = race(
        lambda: [extractor.extract(root) for root in roots],
        lambda: [by_beautiful_soup(page) for page in corpus],
        max(3, turns // 7),
    )
    show("text, a page", ours / count, theirs / count, ratio)
    for tokens in (1_000, 5_000, 20_000):
        sample = (words * (1 + tokens // len(words)))[:tokens]
        if len(set(sample)) < 100:
            raise SystemExit("pydoc wrote too few words")
        text = " ".join(sample)
        check_simhash(text)
        ours, theirs, ratio = race(partial(simhash, text), partial(by_peer, text), turns, calls=5)
        show(f"simhash, {tokens:,} tokens", ours, theirs, ratio)
        if tokens == TARGET_TOKENS:
            met = "met" if ratio >= TARGET_RATIO else "MISSED"
            print(f"{'':24}at least {TARGET_RATIO} times as fast: {met}")


def show(name: str, ours: float, theirs: float, ratio: float) -> None:
    """Print one line of the table."""
    print(f"{name:24}{ours * 1e6:9.0f} µs{theirs * 1e6:9.0f} µs{ratio:8.1f}")


if __name__ == "__main__":
    main()
