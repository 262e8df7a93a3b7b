"""The report in a real browser, as people and hostile sites use it."""

import random
from pathlib import Path

import headless
import pytest
from audits import Audit, shop

if lacking := headless.missing():
    pytest.skip(f"the report isn't opened in a browser: {lacking}", allow_module_level=True)

AXE = (Path(headless.__file__).parent / "axe.min.js").read_text()
"""The accessibility checker axe-core 4.14.1, from npm."""


def rows(page):
    """The summaries of what is listed, a line each."""
    return [" ".join(row.split()) for row in page.texts("#list summary")]


def difference(opened, text, other, **said):
    """Open the report of a page and one that repeats it, at the difference of their texts."""
    audit = Audit()
    kept = audit.kept("https://a.example/1", text=text)
    audit.drop("https://a.example/2", kept, text=other, **said)
    return opened.pair(audit)


def test_it_opens_and_counts(opened):
    audit = shop(products=3, copies=4)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    page = opened.open(audit)
    assert page.text("h1") == "16 pages: 12 repeat another (75.0%), 1 not judged"
    figures = dict(zip(page.texts(".figures dt"), page.texts(".figures dd"), strict=True))
    assert figures == {
        "pages": "16", "kept": "3", "repeat another": "12", "dropped": "12", "not judged": "1",
        "links withheld (kept pages may link there, too)": "18", "orphaned": "1",
    }  # fmt: skip
    assert page.texts(".breakdowns h3") == [
        "By pattern of address", "Which rule decided", "Distance of the fingerprints, in bits",
        "Not judged, and so kept",
    ]  # fmt: skip
    assert page.text("#tally") == "12 drops in 3 groups"
    assert len(page.find(".group")) == 3
    assert len(page.find(".drop")) == 12


def test_it_is_searched_and_filtered(opened):
    audit = shop(products=30, copies=4)
    other = audit.kept("https://docs.example/install", title="Installation")
    audit.drop("https://docs.example/install?print", other, rule="same-core", title="Print me")
    page = opened.open(audit)
    assert page.text("#tally") == "121 drops in 31 groups"
    [search], [everything] = page.find("#search"), page.find("#all")
    search.send_keys("PRODUCT/7.")
    assert page.text("#tally") == "4 drops in 1 group"
    assert rows(page)[0] == "4 Product 7 https://shop.example/product/7.html"
    search.send_keys("nothing like it")
    assert page.text("#tally") == "No drop matches"
    everything.click()
    assert page.text("#tally") == "121 drops in 31 groups"
    assert not everything.is_displayed()
    filters = {button.text: button for button in page.find(".breakdowns button")}
    for name, said in {
        "https://docs.example": "1 drop in 1 group, https://docs.example",
        "same-core": "1 drop in 1 group, same-core",
        "/product/N.html?sid=": "120 drops in 30 groups, /product/N.html?sid=",
    }.items():
        filters[name].click()
        assert page.text("#tally") == said


def test_what_deserves_a_look_is_listed_worst_first(opened):
    audit = Audit()
    kept = audit.kept("https://a.example/p", title="Shoes")
    for number in range(25):
        audit.drop(
            f"https://a.example/p?sid={number}", kept, title="Shoes" if number else "Boots",
            resemblance=0.9 + number / 1000, threshold=0.9,
            learnt=["titles"] if number == 3 else [],
        )  # fmt: skip
    page = opened.open(audit)
    assert page.texts(".look h3") == [
        "Other titles or headings\n1", "Near the threshold\n20", "Decided by something learnt\n1",
    ]  # fmt: skip
    titles, near, learnt = page.find(".look button")
    near.click()
    assert [row[:5] for row in rows(page)][:3] == ["0.900", "0.901", "0.902"]
    titles.click()
    page.run("document.querySelector('.drop').open = true")
    page.difference()
    assert page.text(".page.repeated .other") == "Boots"
    learnt.click()
    assert page.text("#tally") == "1 drop in 1 group, learnt"


def test_a_long_list_is_shown_in_parts(opened):
    page = opened.open(shop(products=510, copies=1))
    assert page.text("#tally") == "510 drops in 510 groups"
    shown = "return document.querySelectorAll('.group').length"
    assert page.run(shown) == 500
    assert page.text("#list > button") == "Show more of 10"
    page.run("document.querySelector('#list > button').click()")
    assert page.run(shown) == 510
    assert page.find("#list > button") == []
    page.run("document.querySelector('.group').open = true")
    page.wait(lambda: page.find(".drop"))


def test_a_pair_differs_word_by_word(opened):
    audit = Audit()
    words = [f"word{number}" for number in range(300)]
    kept = audit.kept("https://a.example/1", title="One", text=" ".join(words), tokens=300)
    changed = [*words[:40], "added", *words[40:200], "other", *words[201:]]
    audit.drop(
        "https://a.example/2", kept, title="Two", text=" ".join(changed), found="features",
        resemblance=0.9512, threshold=0.9, distance=4, rule="alike", learnt=["titles"],
        omitted=[[0, len("word0 word1"), "links"]],
    )  # fmt: skip
    page = opened.pair(audit)
    assert page.texts(".side del") == ["word200"]
    assert page.texts(".side ins") == ["added", "other"]
    assert page.texts(".side .omitted") == ["word0 word1"]
    assert "1 word only in the kept page, 2 words only in the other" in page.text(
        ".texts > p.soft"
    )
    facts = dict(zip(page.texts(".drop dt"), page.texts(".drop dd"), strict=True))
    assert facts == {
        "resemblance": "0.951 needed 0.900", "distance": "4 of 64 bits",
        "contained": "100 % of this page in the kept one, 33 % of the kept one in this",
        "found": "features", "rule": "alike",
        "learnt": "titles",
        "action": "drop",
    }  # fmt: skip
    assert page.texts(".page .other") == ["Two"]
    links = page.find(".drop a")
    assert [link.get_attribute("href") for link in links] == [
        "https://a.example/1", "https://a.example/2",
    ]  # fmt: skip
    assert {link.get_attribute("rel") for link in links} == {"noopener noreferrer nofollow"}
    page.find(".fold summary")[0].click()
    assert "word27" in " ".join(page.texts(".side:first-child"))


@pytest.mark.parametrize("seed", range(3))
def test_the_difference_is_one(opened, seed):
    """What is left of the difference on either side is that side's text."""
    source = random.Random(seed)
    words = [source.choice("abcdefgh") for _ in range(source.randrange(60))]
    other = [w for w in words if source.random() < 0.8] + source.choices("abij", k=seed * 3)
    source.shuffle(other[: seed * 10])
    page = difference(opened, " ".join(words) or "x", " ".join(other) or "y")
    for side, text in (":first-child", words or ["x"]), (":last-child", other or ["y"]):
        shown = page.run(
            "return [...document.querySelectorAll(`.side${arguments[0]}`)]"
            ".map(e => e.textContent).join(' ')", side,
        )  # fmt: skip
        assert shown.split() == text


def test_what_took_no_part_is_grey_whatever_the_characters_before_it(opened):
    text = "😀😀 e\u0301 \U0001f600x left out 中文 kept"
    start = text.index("left")
    omitted = [[text.index("中"), len(text) - 5, "named"], [start, start + 8, "links"]]
    page = difference(opened, text, text.replace("out", "off"), omitted=omitted)
    assert page.texts(".side .omitted") == ["left", "off", "中文"]
    assert page.texts(".side ins.omitted") == ["off"]
    assert "Not judged as content: 3 words in grey." in page.text(".texts > p.soft")


@pytest.mark.parametrize("size", [20, 8_000])
def test_texts_in_another_order_are_not_said_to_be_others(opened, size):
    words = [f"word{number}" for number in range(size)]
    half, gone = size // 2, size // 4
    other = [*words[half:], "added", *words[:gone], *words[gone + 1 : half]]
    page = difference(opened, " ".join(words), " ".join(other))
    assert "1 word only in the kept page, 1 word only in the other" in page.text(".texts > p.soft")
    assert page.texts(".side del") == [f"word{gone}"]
    assert page.texts(".side ins") == ["added"]


def test_rows_stand_side_by_side_from_one_change_to_the_next(opened):
    words = [f"word{number}" for number in range(300)]
    other = [*words[:100], "one", "two", *words[100:200], *words[205:]]
    page = difference(opened, " ".join(words), " ".join(other))
    first = page.texts(".difference > .run")
    assert len(first) == 2
    assert [len(page.find(".fold")), page.texts(".side ins")] == [3, ["one two"]]
    assert page.texts(".side del") == [" ".join(words[200:205])]
    assert "one two" in first[0]
    assert "one two" not in first[1]


def test_it_works_on_a_phone(opened):
    page = opened.open(shop(products=2, copies=3))
    page.look(width=390, height=800)
    page.browser.refresh()
    page.run("document.querySelector('.drop').open = true")
    page.difference()
    assert page.run("return document.documentElement.scrollWidth") == 390
    kept, repeats = page.find(".page")
    assert kept.location["x"] == repeats.location["x"]


def accessible(page):
    page.run(AXE)
    found = page.browser.execute_async_script("axe.run().then(arguments[0])")
    assert not found["violations"], [
        (fault["id"], [(node["target"], node["failureSummary"]) for node in fault["nodes"]])
        for fault in found["violations"]
    ]
    assert "color-contrast" in {check["id"] for check in found["passes"]}


@pytest.mark.parametrize(("dark", "width"), [(True, 390), (False, 1300)])
def test_it_is_accessible(opened, dark, width):
    audit = shop(products=1, copies=25)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    page = opened.open(audit)
    page.look(width=width, dark=dark)
    page.browser.refresh()
    page.run("document.querySelector('[data-filter]').click()")
    page.run("document.querySelectorAll('.drop').forEach((drop) => { drop.open = true; })")
    page.difference()
    page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.find(".side .omitted")
    accessible(page)
    page.run("const s = document.querySelector('#search'); s.value = 'no such page';"
             "s.dispatchEvent(new Event('input'))")  # fmt: skip
    accessible(page)


def test_one_line_and_none_that_repeats(opened):
    audit = Audit()
    audit.kept("https://a.example/")
    page = opened.open(audit)
    assert page.text("h1") == "1 page: 0 repeat another (0.0%), 0 not judged"
    assert page.find("#groups") == []
