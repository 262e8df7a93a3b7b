"""The report in a real browser, as people and hostile sites use it."""

import json
import random
from pathlib import Path

import headless
import pytest
from audits import Audit, shop
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.ui import Select

if lacking := headless.missing():
    pytest.skip(f"the report isn't opened in a browser: {lacking}", allow_module_level=True)

AXE = (Path(headless.__file__).parent / "axe.min.js").read_text()
"""The accessibility checker axe-core 4.14.1, from npm."""


def rows(page):
    return [row.text.strip("▸▾\n").split("\n") for row in page.find(".row")]


def press(page, *keys):
    ActionChains(page.browser).send_keys(*keys).perform()


def test_it_opens_and_counts(opened):
    audit = shop(products=3, copies=4)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    page = opened.open(audit)
    assert page.text("h1") == "75 % of 16 pages repeat another."
    figures = dict(zip((e.text for e in page.find(".figure dt")),
                       (e.text for e in page.find(".figure dd")), strict=True))  # fmt: skip
    assert figures == {
        "pages": "16", "kept": "3", "repeat another": "12 all dropped", "not judged": "1",
        "requests saved, at most": "18", "orphaned": "1",
    }  # fmt: skip
    assert [e.text for e in page.find(".breakdown h3")] == [
        "By pattern of address", "What decided", "Distance of the fingerprints, in bits",
        "Not judged, and so kept",
    ]  # fmt: skip
    assert page.text(".tools p") == "12 drops in 3 groups"
    assert len(page.find(".row.group")) == 3
    assert len(page.find(".row.drop")) == 12


def test_it_is_searched_and_filtered(opened):
    audit = shop(products=30, copies=4)
    other = audit.kept("https://docs.example/install", title="Installation")
    audit.drop("https://docs.example/install?print", other, rule="same-core", title="Print me")
    page = opened.open(audit)
    assert page.text(".tools p") == "121 drops in 31 groups"
    [search] = page.find("#search")
    search.send_keys("PRODUCT/7.")
    assert page.text(".tools p") == "4 drops in 1 group"
    assert rows(page) == [["Product 7", "4", "https://shop.example/product/7.html"]]
    search.send_keys(Keys.ESCAPE)
    assert page.text(".tools p") == "121 drops in 31 groups"
    host, pattern, rule = map(Select, page.find(".tools select"))
    host.select_by_visible_text("https://docs.example")
    assert page.text(".tools p") == "1 drop in 1 group"
    host.select_by_visible_text("All hosts")
    rule.select_by_visible_text("same-core")
    assert rows(page)[0][0] == "Installation"
    assert [option.text for option in pattern.options] == [
        "All patterns", "/product/N.html?sid=", "/install?print=",
    ]  # fmt: skip
    rule.select_by_visible_text("All rules")
    assert page.text(".tools p") == "121 drops in 31 groups"


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
    assert [e.text for e in page.find(".look h3")] == [
        "Other titles or headings\n1", "Many pages of one pattern that repeat one page\n1",
        "Near the threshold\n20", "Decided by something learnt\n1",
    ]  # fmt: skip
    titles, crowd, near, learnt = page.find(".look li > button, .crowds button")
    near.click()
    assert [line[1] for line in rows(page)][:3] == ["0.900", "0.901", "0.902"]
    assert page.text(".chips").startswith("Near the threshold")
    page.find(".chip")[0].click()
    assert page.text(".tools p") == "25 drops in 1 group"
    crowd.click()
    assert page.text(".chips").startswith("https://a.example/p")
    assert len(page.find(".row.drop")) > 10
    titles.click()
    assert page.text(".page.repeated .other") == "Boots"
    learnt.click()
    assert page.text(".tools p") == "1 drop in 1 group"


def test_it_works_by_keyboard(opened):
    page = opened.open(shop(products=60, copies=3))
    chosen = lambda: page.text('.row[aria-selected="true"]').strip("▸▾\n").split("\n")[0]
    press(page, "/", "product/1")
    assert page.text(".tools p") == "33 drops in 11 groups"
    press(page, Keys.ESCAPE)
    assert page.run("return document.activeElement.className") == "list"
    assert chosen() == "Product 0"
    press(page, Keys.DOWN)
    assert chosen() == "Product 1"
    press(page, Keys.RIGHT)
    assert len(page.find(".row.drop")) == 3
    press(page, Keys.RIGHT, Keys.DOWN)
    assert chosen() == "/product/1.html?sid=1"
    assert page.text(".page.repeated a") == "https://shop.example/product/1.html?sid=1"
    press(page, Keys.LEFT, Keys.LEFT)
    assert page.find(".row.drop") == []
    press(page, Keys.END)
    assert chosen() == "Product 59"
    press(page, Keys.HOME, Keys.PAGE_DOWN, Keys.SPACE)
    assert chosen() not in {"Product 0", "Product 59"}
    assert len(page.find(".row.drop")) == 3
    active = page.run("return document.activeElement.getAttribute('aria-activedescendant')")
    assert page.run("return document.getElementById(arguments[0]).ariaSelected", active) == "true"


def test_a_pair_differs_word_by_word(opened):
    audit = Audit()
    words = [f"word{number}" for number in range(300)]
    kept = audit.kept("https://a.example/1", title="One", text=" ".join(words), tokens=300)
    changed = [*words[:40], "added", *words[40:200], "other", *words[201:]]
    audit.drop(
        "https://a.example/2", kept, title="Two", text=" ".join(changed), found="features",
        resemblance=0.9512, threshold=0.9, distance=4, rule="alike", learnt=["titles"],
        omitted=[[0, len("word0 word1"), "clock"]],
    )  # fmt: skip
    page = opened.open(audit)
    page.difference()
    assert [e.text for e in page.find("del")] == ["word200"]
    assert [e.text for e in page.find("ins")] == ["added", "other"]
    assert [e.text for e in page.find(".omitted")] == ["word0 word1"]
    assert "1 word only in the kept page, 2 words only in the other" in page.text(".texts > p")
    facts = dict(zip((e.text for e in page.find(".facts dt")),
                     (e.text for e in page.find(".facts dd")), strict=True))  # fmt: skip
    assert facts == {
        "resemblance": "0.951 needed 0.900", "distance": "4 of 64 bits",
        "contained": "100 % of this page in the kept one, 33 % of the kept one in this",
        "found": "by shared min-wise features", "rule": "alike", "learnt": "titles",
        "action": "drop",
    }  # fmt: skip
    assert [e.text for e in page.find(".page .other")] == ["Two"]
    links = page.find(".pair a")
    assert [link.get_attribute("href") for link in links] == [
        "https://a.example/1", "https://a.example/2",
    ]  # fmt: skip
    assert {link.get_attribute("rel") for link in links} == {"noopener noreferrer nofollow"}
    page.find(".fold")[0].click()
    assert "word27" in " ".join(side.text for side in page.find(".side:first-child"))


@pytest.mark.parametrize("seed", range(3))
def test_the_difference_is_one(opened, seed):
    """What is left of the difference on either side is that side's text."""
    source = random.Random(seed)
    words = [source.choice("abcdefgh") for _ in range(source.randrange(60))]
    other = [w for w in words if source.random() < 0.8] + source.choices("abij", k=seed * 3)
    source.shuffle(other[: seed * 10])
    audit = Audit()
    kept = audit.kept("https://a.example/1", text=" ".join(words) or "x")
    audit.drop("https://a.example/2", kept, text=" ".join(other) or "y")
    page = opened.open(audit)
    page.difference()
    for fold in page.find(".fold"):
        fold.click()
    for side, text in (":first-child", words or ["x"]), (":last-child", other or ["y"]):
        shown = page.run(
            "return [...document.querySelectorAll(`.side${arguments[0]}`)]"
            ".map(e => e.textContent).join(' ')", side,
        )  # fmt: skip
        assert shown.split() == text


def test_what_took_no_part_is_grey_whatever_the_characters_before_it(opened):
    audit = Audit()
    text = "😀😀 e\u0301 \U0001f600x left out 中文 kept"
    start = text.index("left")
    kept = audit.kept("https://a.example/1", text=text)
    audit.drop(
        "https://a.example/2", kept, text=text.replace("out", "off"),
        omitted=[[text.index("中"), len(text) - 5, "named"], [start, start + 8, "clock"]],
    )  # fmt: skip
    page = opened.open(audit)
    page.difference()
    assert [e.text for e in page.find(".omitted")] == ["left", "off", "中文"]
    assert page.text("ins.omitted") == "off"
    assert "3 words in grey took no part in the judgement" in page.text(".texts > p")


def test_texts_in_another_order_are_not_said_to_be_others(opened):
    words = [f"word{number}" for number in range(8_000)]
    other = [*words[5_000:], "added", *words[:2_000], *words[2_001:5_000]]
    audit = Audit()
    kept = audit.kept("https://a.example/1", text=" ".join(words))
    audit.drop("https://a.example/2", kept, text=" ".join(other))
    page = opened.open(audit)
    page.difference()
    assert "Much of the text is in another order" in page.text(".texts > p")
    assert [e.text for e in page.find("del")] == ["word2000"]
    assert [e.text for e in page.find("ins")] == ["added"]


def test_what_tuning_shows(opened):
    audit = shop(products=5, copies=3)
    for name in "<&":
        audit.kept(f"javascript:owned{name}", text="a b c d " * 30)
    page = opened.open(audit, verb="tune")
    assert page.text("h1") == "Keep the defaults."
    assert [row.text.split()[1] for row in page.find("tr.chosen")] == ["best"]
    assert (
        len(page.find("circle"))
        == len(page.find("table")[0].find_elements("css selector", "tbody tr"))
        == 14
    )
    assert "javascript" not in "".join(page.run("return [...document.links].map(a => a.href)"))
    accessible(page)


def test_it_works_on_a_phone(opened):
    page = opened.open(shop(products=2, copies=3))
    page.look(width=390, height=800)
    page.browser.refresh()
    wide = "return document.documentElement.scrollWidth"
    assert page.run(wide) == 390
    assert not page.find(".pair")[0].is_displayed()
    page.run("document.querySelector('.row.drop').click()")
    assert page.find(".pair")[0].is_displayed()
    assert page.run(wide) == 390
    page.find(".close")[0].click()
    assert not page.find(".pair")[0].is_displayed()


def accessible(page):
    page.run(AXE)
    found = page.browser.execute_async_script("axe.run().then(arguments[0])")
    assert not found["violations"], [
        (fault["id"], [(node["target"], node["failureSummary"]) for node in fault["nodes"]])
        for fault in found["violations"]
    ]
    assert "color-contrast" in {check["id"] for check in found["passes"]}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1300])
def test_it_is_accessible(opened, dark, width):
    audit = shop(products=3, copies=25)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    page = opened.open(audit)
    page.look(width=width, dark=dark)
    page.browser.refresh()
    page.run("document.querySelector('.look li > button, .crowds button').click()")
    page.difference()
    accessible(page)


def test_one_line_and_none_that_repeats(opened):
    audit = Audit()
    audit.kept("https://a.example/")
    page = opened.open(audit)
    assert page.text("h1") == "None of 1 page repeats another."
    assert page.find(".explorer") == []


def test_a_page_that_could_not_be_run_says_so(opened, tmp_path):
    page = opened.open(shop())
    assert json.loads(page.run("return JSON.stringify(document.getElementById('drops'))")) is None
    assert "This page needs JavaScript" in page.run(
        "return document.querySelector('noscript').textContent"
    )
