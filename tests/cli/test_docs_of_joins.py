"""The commands that docs/joins.md and docs/offline.md show are run as they stand there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from scrapy_neardup.stores.packfile import open_packed

DOCS = Path(__file__).parents[2] / "docs"


def commands(document, heading):
    """The commands of the first block under a heading, without their comments."""
    part = (DOCS / document).read_text().partition(f"# {heading}\n")[2]
    block = part.partition("```\n")[2].partition("```")[0]
    return [re.split(r"\s{3,}", line)[0] for line in block.splitlines()]


@pytest.fixture
def collections(site, tmp_path):
    """What the examples call site/, parts/, books/ and crawl.warc.gz."""
    shutil.copytree(site, tmp_path / "books")
    parts = tmp_path / "parts"
    parts.mkdir()
    shutil.copy(site / "0a.html", parts)
    return tmp_path


SHOWN = [
    *commands("joins.md", "Exact joins and clusters"),
    *commands("offline.md", "Pages that share features"),
]


def test_all_examples_work(call, rows, collections, site):
    assert len(SHOWN) == 5
    found = {}
    for shown in SHOWN:
        # A WARC file of these pages would say nothing else.
        program, *arguments = shlex.split(shown.replace("crawl.warc.gz", "site/"))
        assert program == "scrapy-neardup"
        found[shown] = call(*arguments).stdout
    sizes = {shown: len(text.splitlines()) for shown, text in found.items()}
    assert list(sizes.values()) == [9, 3, 9, 3, 3]
    held = rows(found[SHOWN[1]])
    assert {row["a"][-7:] for row in held} == {"0a.html"}
    assert {row["b"][-7:-5] for row in held} == {"0a", "0b", "0c"}
    assert found[SHOWN[2]] == found[SHOWN[0]]


def test_a_base_is_made_as_the_docs_say(call, collections, tmp_path):
    text = (DOCS / "settings.md").read_text()
    [(scan, pack)] = re.findall(
        r"^\$ scrapy-neardup (scan .*) \| scrapy-neardup (pack .*)$", text, re.MULTILINE
    )
    scanned = call(*shlex.split(scan.replace("crawl.warc.gz", "site/"))).stdout
    call(*shlex.split(pack), stdin=scanned)
    index = open_packed(tmp_path / "archive.pack")
    assert len(index) == 9
    assert index.records.shape["text_bits"] == 1792
    shown = (
        (DOCS / "offline.md").read_text().partition("```python\nfrom scrapy_neardup.stores.")[2]
    )
    code = "from scrapy_neardup.stores." + shown.partition("```")[0]
    found = []
    stored = f"0x{index.fingerprint(0):016X}"
    code = code.replace("base.pack", "archive.pack").replace("0x0123456789ABCDEF", stored)
    exec(code, {"print": lambda *row: found.append(row)})
    assert (index.rows.page_id(0), index.rows.url(0), 0) in found
