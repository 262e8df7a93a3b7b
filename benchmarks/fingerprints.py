"""Tree to text and text to fingerprint: what they cost, next to what else one would take.

Pages are those that pydoc writes about the standard library's modules, framed by navigation,
header and footer. Both sides take turns, and the best of each counts: text by `Extractor`, on the
tree that Scrapy has parsed anyway, against a pass of BeautifulSoup (parser lxml); simhash of word
3-shingles against PyPI `simhash` with the same shingles. Checked before: both texts hold the same
letters; a text has the fingerprint that voting bit by bit gives, the same each time, and within 3
bits when one of its words changes.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import Table, arguments, in_turns

from scrapy_neardup import _speed
from scrapy_neardup.fingerprints import features, hamming_distance, simhash, token_hashes
from scrapy_neardup.text import Extractor, normalize, parse_html

try:
    from bs4 import BeautifulSoup
    from simhash import Simhash
except ImportError as missing:
    sys.exit(f"{missing}: install the peers with  pip install '.[bench]'")

_MODULES = """
argparse bisect calendar cmd codecs csv datetime decimal difflib email enum fractions functools
gzip heapq html inspect io json logging math os pathlib pickle random re shutil socket sqlite3
statistics string tarfile textwrap typing unittest zipfile
"""
MODULES = _MODULES.split()
MENU = "".join(f'<li><a href="/{n}">Entry {n} of the menu</a></li>' for n in range(30))
FRAME = (
    "<!DOCTYPE html><html><head><title>{title}</title><style>p {{}}</style></head><body>"
    "<header><h1>The site</h1></header><nav><ul>" + MENU + "</ul></nav>"
    "<main>{body}</main><script>track()</script>"
    "<footer><p>Printed on paper that grew on trees</p></footer></body></html>"
)
BOILERPLATE = ["script", "style", "template", "noscript", "head", "nav", "footer"]
TARGET_TOKENS = 1_000
TARGET_RATIO = 8 if _speed.load("features") is None else 20
"""How many times as fast as PyPI `simhash`: in numpy, and compiled."""


def pages(count: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pydoc", "-w", *MODULES[:count]]
        subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        written = {path.stem: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
    return [
        FRAME.format(title=name, body=html.partition("<body>")[2])
        for name, html in sorted(written.items())
    ]


def by_beautiful_soup(page: str) -> str:
    soup = BeautifulSoup(page, "lxml")
    for element in soup(BOILERPLATE):
        element.decompose()
    return soup.get_text(" ")


def by_peer(text: str) -> int:
    words = re.findall(r"[^\W_]+", text.lower())
    return int(Simhash({" ".join(words[i : i + 3]) for i in range(len(words) - 2)}).value)


def vote(text: str) -> int:
    hashes = features(token_hashes(text))[0].tolist()
    sums = [sum(1 if h >> bit & 1 else -1 for h in hashes) for bit in range(64)]
    return sum((total > 0) << bit for bit, total in enumerate(sums))


def check_simhash(text: str) -> None:
    words = text.split()
    place = len(words) // 3
    changed = " ".join([*words[:place], "changed", *words[place + 1 :]])
    fingerprint = simhash(text)
    assert fingerprint == simhash(" ".join(words).upper()) == vote(text)
    assert hamming_distance(fingerprint, simhash(changed)) <= 3
    assert hamming_distance(fingerprint, simhash(" ".join(reversed(words)))) > 3


def main() -> None:
    options = arguments(__doc__, turns=(21, "how often each is timed"), modules=len(MODULES),
                        quick={"turns": 3, "modules": 4})  # fmt: skip
    corpus = pages(options.modules)
    roots, extractor = [parse_html(page) for page in corpus], Extractor()
    texts = [extractor.extract(root).text for root in roots]
    for ours, page in zip(texts, corpus, strict=True):
        # Not the same words: get_text(" ") parts words at every element within them.
        letters = [b"".join(normalize(each).split()) for each in (ours, by_beautiful_soup(page))]
        assert letters[0] == letters[1], f"the texts of {page[:80]!r} differ"
    words = normalize("\n".join(texts)).decode().split()
    count, size = len(corpus), sum(map(len, corpus)) // len(corpus) // 1000
    print(f"{count} pages of {size} kB and {len(words) // count} tokens on average")
    table = Table(µs="<24", ours="12.0f", peer="12.0f", ratio="8.1f")

    def race(name: str, ours: Callable, theirs: Callable, turns: int, each: int = 1) -> float:
        found = in_turns({"ours": ours, "theirs": theirs}, turns + 1)
        a, b = (found[side][0] / each for side in ("ours", "theirs"))
        table.row(name, a * 1e6, b * 1e6, b / a)
        return b / a

    race("text, a page", lambda: list(map(extractor.extract, roots)),
         lambda: list(map(by_beautiful_soup, corpus)),
         max(3, options.turns // 7), count)  # fmt: skip
    for tokens in (1_000, 5_000, 20_000):
        sample = (words * (1 + tokens // len(words)))[:tokens]
        assert len(set(sample)) >= 100, "pydoc wrote too few words"
        text = " ".join(sample)
        check_simhash(text)
        sides = partial(simhash, text), partial(by_peer, text)
        ratio = race(f"simhash, {tokens:,} tokens", *sides, options.turns)
        if tokens == TARGET_TOKENS:
            met = "met" if ratio >= TARGET_RATIO else "MISSED"
            print(f"{'':24} at least {TARGET_RATIO} times as fast: {met}")


if __name__ == "__main__":
    main()
