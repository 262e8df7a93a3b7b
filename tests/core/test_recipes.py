"""Each recipe of docs/extending.md is carried out in a copy of the package."""

import os
import re
import shutil
import textwrap
from pathlib import Path

import pytest
from forked import python

import scrapy_neardup

PACKAGE = Path(scrapy_neardup.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
EDIT = re.compile(
    r"(?:In|file) `(scrapy_neardup/[^`]+)`(?:, (above|below)\s+`([^`]+)`)?:\n\n"
    r"```(?:python)?\n(.*?)```",
    re.DOTALL,
)
"""File, place, the line there, and what is added, indented as that line is."""
RECIPES = {
    "A setting": """
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy.settings import Settings
settings = read_settings(Settings({"NEARDUP_MIN_JUDGED_TOKENS": "7"}))
assert settings.parameters.min_judged_tokens == 7
""",
    "A reason to leave a page unjudged": """
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy_neardup.crawl.pagestate import Visit
from scrapy_neardup.crawl.reading import Reader
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.crawl.crawlsettings import read_settings
settings, request = read_settings(Settings()), Request("http://h.test/")
reader = Reader(Analyser(settings.parameters), settings)
page = "<meta name=robots content='noindex, nofollow'><p>" + "word " * 99
verdict = reader.page(Visit(1), request, HtmlResponse(request.url, body=page.encode()))
assert (verdict.decision, verdict.reason) == ("unjudged", "noindex")
""",
    "A field of the content": """
from scrapy_neardup.text import Extractor, parse_html
page = Extractor().extract(parse_html("<meta name=author content=Ann><p>A text of five words</p>"))
assert (page.author, page.text) == ("Ann", "A text of five words")
""",
    "A kind of knowledge": """
import numpy as np
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sites import Site
site, resumed, text = Site("me"), Site("me"), Text(*[np.empty(0, np.uint64)] * 4)
for folder in range(4):
    page = Evidence(segments=frozenset({1, 10 + folder}), folder=folder)
    known = [rule.name for rule in site.learn((0, folder), page, text)]
assert known == ["categories"]
assert resumed.restore(site.dump(complete=True))
assert resumed.rules[-1].exclude(page).segments == {1}
assert Parameters(learn=["categories"]).learn == ("categories",)
""",
    "A verb of the command": """
from click.testing import CliRunner
from scrapy_neardup.cli import main
from scrapy_neardup.fingerprints import simhash
found = CliRunner().invoke(main, ["fingerprint", "-"], input="a text of some words")
assert found.output == f"{simhash('a text of some words'):016x}\\n", found.output
""",
}
"""Heading -> a script that uses what was added; `tests/stores/` has that of a store."""


def test_every_recipe_is_carried_out():
    carried_out = RECIPES.keys() | {"A rule", "A store"}
    assert set(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == carried_out


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe(heading, tmp_path):
    shutil.copytree(
        PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__", "*.pyx")
    )
    for name, side, anchor, code in EDIT.findall(section(heading)):
        file = tmp_path / name
        lines = file.read_text().splitlines(keepends=True) if anchor else []
        place = lines.index(f"{anchor}\n") + (side == "below") if anchor else 0
        indent = anchor[: len(anchor) - len(anchor.lstrip())]
        added = textwrap.indent(textwrap.dedent(code), indent)
        file.write_text("".join([*lines[:place], added, *lines[place:]]))
    check = f"import scrapy_neardup as p; assert p.__file__.startswith({str(tmp_path)!r})"
    here = {"env": {**os.environ, "PYTHONPATH": str(tmp_path)}, "cwd": tmp_path}
    done = python("-c", check + RECIPES[heading], **here)
    assert done.returncode == 0, done.stderr


def section(heading: str) -> str:
    text = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert text.count("```") == 2 * len(EDIT.findall(text)) > 0
    return text


def test_the_toy_store_is_small():
    toy = Path(__file__).parents[1] / "support" / "list_store.py"
    assert len(toy.read_text().splitlines()) <= 120
