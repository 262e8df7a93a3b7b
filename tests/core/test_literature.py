"""What docs/literature.md names is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXT = (DOCS / "literature.md").read_text()
NAMES = sorted(set(re.findall(r"`(scrapy_neardup(?:\.\w+)+)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_names_can_be_imported(name):
    try:
        import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        try:
            found = import_module(module)
        except ModuleNotFoundError:  # an attribute of a class
            module, _, kind = module.rpartition(".")
            found = getattr(import_module(module), kind)
        assert hasattr(found, attribute)


def test_files_that_are_named_are_there():
    files = re.findall(r"`(?:python )?((?:benchmarks|tests)/[\w/]+\.py)", TEXT)
    assert len(files) > 30
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_every_row_says_where_it_is_or_why_not():
    rows = [line for line in TEXT.splitlines() if re.match(r"\| (?!---|section|signature)", line)]
    assert len(rows) > 60
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) in {3, 4}, row
        assert any(cells[1:]), row
