"""Everything that a user can set or see is documented, and as it is."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scrapy.settings import Settings

from scrapy_neardup.crawl.downloader import PRIORITY as DOWNLOADER_PRIORITY
from scrapy_neardup.crawl.report import STATS
from scrapy_neardup.crawl.settings import ACTIONS, SETTINGS, read_settings
from scrapy_neardup.crawl.spider import PRIORITY as SPIDER_PRIORITY
from scrapy_neardup.verdict import Reason

DOCS = Path(__file__).parent.parent.parent / "docs"
TEXT = (DOCS / "settings.md").read_text()
ROWS = {
    name: cells
    for name, *cells in re.findall(
        r"^\| `NEARDUP_(\w+)` \| `(.*?)` \| (.*?) \| `(.*?)` \|$", TEXT, re.MULTILINE
    )
}


def test_every_setting_has_its_row():
    assert list(ROWS) == list(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_default_is_right_and_the_example_works(name, monkeypatch):
    default, meaning, example = ROWS[name]
    assert ast.literal_eval(default) == SETTINGS[name][0]
    assert meaning.endswith((".", "below](#actions).", "below](#the-audit-file)."))
    own = ModuleType("myproject.text")
    own.article = lambda response: response.text
    monkeypatch.setitem(sys.modules, "myproject", ModuleType("myproject"))
    monkeypatch.setitem(sys.modules, "myproject.text", own)
    values = {"NEARDUP_AUDIT": "a", f"NEARDUP_{name}": ast.literal_eval(example)}
    assert read_settings(Settings(values)) != read_settings(Settings({"NEARDUP_AUDIT": "a"})) or (
        name == "ENABLED"  # which is read apart
    )


def table(heading):
    """Return the first column of the table under a heading."""
    section = TEXT.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    return [entry.strip('"') for entry in re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)]


def test_every_stat_is_documented():
    assert table("## Stats") == list(STATS)


def test_every_reason_is_documented():
    unjudged = table("### Reasons")
    others = set(Reason) - set(unjudged)
    assert len(unjudged) + len(others) == len(Reason)
    paragraph = TEXT.partition("The reasons of the other verdicts")[2].partition("##")[0]
    assert set(re.findall(r"`(.+?)`", paragraph)) == others


def test_every_action_is_documented():
    assert table("### Actions") == list(ACTIONS)


def test_the_places_are_documented():
    text = (DOCS / "scrapy.md").read_text()
    for half, place in ("Downloader", DOWNLOADER_PRIORITY), ("Spider", SPIDER_PRIORITY):
        assert re.search(rf"^\| `NearDuplicate{half}Middleware` \| {place}\b", text, re.MULTILINE)
        assert re.search(rf'\.NearDuplicate{half}Middleware": {place},$', text, re.MULTILINE)


def test_links_lead_somewhere():
    def anchors(path):
        headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    for name in "settings.md", "scrapy.md", "redis.md":
        for file, anchor in re.findall(r"\]\(([\w.]*)(?:#([\w-]+))?\)", (DOCS / name).read_text()):
            target = DOCS / (file or name)
            assert target.exists()
            assert not anchor or anchor in anchors(target)
