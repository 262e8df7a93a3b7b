"""Everything that a user can set or see is documented, and as it is."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name

import pytest

from scrapy_neardup.crawl import actions
from scrapy_neardup.crawl.middlewares import HALVES
from scrapy_neardup.judge.comparison import Refusal, Rule
from scrapy_neardup.settings.catalogue import ACTIONS, OPTIONS
from scrapy_neardup.verdict import Decision, Reason

DOCS = Path(__file__).parent.parent.parent / "docs"
README = DOCS.parent / "README.md"
TEXT = (DOCS / "settings.md").read_text()


def script(name):
    spec = spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_settings_are_up_to_date():
    assert script("settings").with_tables(TEXT) == TEXT, "run: python docs/settings.py"


@pytest.mark.parametrize("page", ["scrapy.md", "reliability.md", "urls.md"])
def test_the_drawings_of_states_are_their_tables(page):
    drawn = script("states").with_drawing(page)
    assert "\n```text\n" in drawn
    assert drawn == (DOCS / page).read_text(), "run: python docs/states.py"


def test_what_is_said_of_a_setting_is_said_of_one_that_there_is():
    known = {option.setting for option in OPTIONS.values()}
    assert set(re.findall(r"NEARDUP_[A-Z_]+", TEXT)) == known


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.name)
def test_an_option_is_explained_in_one_sentence(option):
    assert re.fullmatch(r"[A-Z][^.]*(\.\.\.|\.)", option.help)
    assert option.read(option.default) == option.default


def table(heading):
    """Return the first column of the table under a heading."""
    section = TEXT.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    return [entry.strip('"') for entry in re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE)]


def test_every_stat_is_documented():
    documented = {name.removeprefix("neardup/") for name in table("## Stats")}
    groups = "|".join({name.partition("/")[0] for name in documented})
    source = "".join(file.read_text() for file in Path(actions.__file__).parent.rglob("*.py"))
    written = set(re.findall(rf'"(?:neardup/)?((?:{groups})/[^"{{]+)"', source))
    written |= {f"experiments/{kind}" for kind in re.findall(r'_own\.\w+\("(.+?)"', source)}
    made = {f"pages/{action.replace('keep', 'kept')}" for action in actions.KEPT}
    made |= {f"pages/{decision}" for decision in Decision if decision != "unjudged"}
    assert documented == written | made | {
        "unjudged/REASON", "distance/N", "rule/NAME", "learnt/KIND"
    }  # fmt: skip


def test_every_rule_and_every_action_is_documented():
    assert set(table("### Rules")) == set(Rule)
    assert table("### NEARDUP_ACTION") == list(ACTIONS)


def test_every_rule_of_an_audit_leads_to_the_place_where_it_is_decided():
    text = (DOCS / "architecture.md").read_text()
    _, _, *rows = text.partition("| `rule`; in `nearest` |")[2].partition("\n\n")[0].splitlines()
    named = {name for row in rows for name in re.findall(r"`(.+?)`", row.split("|")[1])}
    assert named == {*Rule, *Refusal}


def test_every_reason_is_documented():
    unjudged = table("### Reasons")
    others = set(Reason) - set(unjudged)
    assert len(unjudged) + len(others) == len(Reason)
    paragraph = TEXT.partition("The reasons of the other verdicts")[2].partition("##")[0]
    assert set(re.findall(r"`(.+?)`", paragraph)) == others


def test_the_places_are_documented():
    text = (DOCS / "scrapy.md").read_text()
    for half in HALVES:
        name, place = half.__name__, half.PRIORITY
        assert re.search(rf"^\| `{name}` \| {place}\b", text, re.MULTILINE)
        assert re.search(rf'"{half.__module__}\.{name}": {place},$', text, re.MULTILINE)


@pytest.mark.parametrize("path", [README, *sorted(DOCS.glob("*.md"))], ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    def anchors(file):
        headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    for name, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", path.read_text()):
        target = path.parent / name if name else path
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), (name, anchor)


def test_what_people_search_for_has_an_answer():
    headings = "\n".join(re.findall(r"^## (.+)$", (DOCS / "faq.md").read_text(), re.MULTILINE))
    for word in (
        "disable", "false positive", "prices", "my products", "dropped nothing", "languages",
        "pagination", "login", "playwright",
    ):  # fmt: skip
        assert word in headings.lower()


@pytest.mark.parametrize("page", ["architecture.md", "extending.md"])
def test_the_files_that_are_named_are_there(page):
    package = DOCS.parent / "scrapy_neardup"
    made = r"(?<!new file )`((?:[\w-]+/)*[\w-]+(?:\.py|\.lua|/))`"
    named = re.findall(made, (DOCS / page).read_text())
    assert len(named) > 10
    for name in named:
        folders = ("", "..", "stores", "settings", "stores/redis/lua")
        assert any((package / folder / name).exists() for folder in folders), name


def test_the_code_that_decides_is_where_the_trail_says():
    trail = (DOCS / "architecture.md").read_text().partition("## Why was")[2].partition("\n## ")[0]
    sources = [path.read_text() for path in (DOCS.parent / "scrapy_neardup").rglob("*.py")]
    for owner, name in re.findall(r"`(_?[A-Z]\w+)\.(\w+)`", trail):
        assert any(
            f"class {owner}" in source and f"def {name}(" in source for source in sources
        ), (owner, name)


LITERATURE = (DOCS / "literature.md").read_text()
NAMES = sorted(set(re.findall(r"`(scrapy_neardup(?:\.\w+)+)`", LITERATURE)))


@pytest.mark.parametrize("name", NAMES)
def test_names_can_be_imported(name):
    assert resolve_name(name)


def test_files_that_are_named_are_there():
    files = re.findall(r"`(?:python )?((?:benchmarks|tests)/[\w/]+\.py)", LITERATURE)
    assert len(files) > 30
    assert [file for file in files if not (DOCS.parent / file).exists()] == []


def test_every_row_says_where_it_is_or_why_not():
    rows = [
        line for line in LITERATURE.splitlines() if re.match(r"\| (?!---|section|signature)", line)
    ]
    assert len(rows) > 60
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) in {3, 4}, row
        assert any(cells[1:]), row
