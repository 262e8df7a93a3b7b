"""The report in a real browser, as people and hostile sites use it."""

import json
import random
from pathlib import Path

import headless
import pytest
from audits import Audit, shop
from selenium.webdriver import ActionChains, Keys

from scrapy_neardup.report.reportpage import RULES

if lacking := headless.missing():
    pytest.skip(f"the report isn't opened in a browser: {lacking}", allow_module_level=True)

AXE = (Path(headless.__file__).parent / "axe.min.js").read_text()
"""The accessibility checker axe-core 4.14.1, from npm."""


def rows(page):
    return [row.strip("▸▾\n").split("\n") for row in page.texts(".row")]


def difference(opened, text, other, **said):
    """Open the report of a page and one that repeats it, at the difference of their texts."""
    audit = Audit()
    kept = audit.kept("https://a.example/1", text=text)
    audit.drop("https://a.example/2", kept, text=other, **said)
    page = opened.open(audit)
    page.difference()
    return page


def press(page, *keys):
    ActionChains(page.browser).send_keys(*keys).perform()


def test_it_opens_and_counts(opened):
    audit = shop(products=3, copies=4)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    page = opened.open(audit)
    assert page.text("h1") == "75 % of 16 pages repeat another."
    figures = dict(zip(page.texts(".figure dt"), page.texts(".figure dd"), strict=True))
    assert figures == {
        "pages": "16", "kept": "3", "repeat another": "12 all dropped", "not judged": "1",
        "links withheld": "18 kept pages may link there, too", "orphaned": "1",
    }  # fmt: skip
    assert page.texts(".breakdown h3") == [
        "By pattern of address", "Which rule decided", "Distance of the fingerprints, in bits",
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
    assert page.text(".page.kept a") == "https://shop.example/product/7.html"
    search.send_keys("nothing like it")
    assert page.text(".tools p") == "No drop matches"
    assert page.text(".pair") == "No drop matches. Show all drops"
    page.find(".pair button")[0].click()
    assert page.text(".tools p") == "121 drops in 31 groups"
    assert page.text(".page.kept a") == "https://shop.example/product/0.html"
    search.send_keys("product/7.", Keys.ESCAPE)
    assert page.text(".tools p") == "121 drops in 31 groups"
    bars = {bar.text.split("\n")[0]: bar for bar in page.find("button.bar")}
    bars["https://docs.example"].click()
    assert page.text(".tools p") == "1 drop in 1 group"
    assert page.text(".chips").startswith("https://docs.example")
    bars["same-core"].click()
    assert rows(page)[0][0] == "Installation"
    page.find(".chip")[0].click()
    assert page.text(".tools p") == "121 drops in 31 groups"
    bars["/product/N.html?sid="].click()
    assert page.text(".tools p") == "120 drops in 30 groups"


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


def test_colours_mean_the_same_everywhere_and_are_explained(opened):
    words = " ".join(f"word{number}" for number in range(50))
    omitted = [[0, 6, "links"]]
    page = difference(opened, f"mine {words}", f"theirs {words}", omitted=omitted)
    hue = "return getComputedStyle(document.querySelector(arguments[0])).%s.match(/[0-9]+/g)"
    for kind, mark in ("kept", ".legend del"), ("repeated", ".legend ins"):
        bar = list(map(int, page.run(hue % "backgroundColor", f".key.{kind}")))
        tint = list(map(int, page.run(hue % "backgroundColor", mark)))
        assert (bar[0] > bar[1]) == (tint[0] > tint[1]) == (kind == "repeated")
    assert page.text(".texts .legend") == (
        "only in the kept page only in the page that repeats it not judged as content other,"
        " and not judged as content"
    )
    assert "keptrepeat anothernot judged; a full bar is 2 pages." in page.text("section > .legend")
    assert "the highest bar is 1 page in" in page.text(".timeline figcaption")


def test_the_crawl_and_its_settings_are_told(opened):
    audit = Audit()
    audit.begun(NEARDUP_SCOPE="'host'", NEARDUP_DENY="['<b>']")
    audit.drop("https://a.example/2", audit.kept("https://a.example/1"), title="Other")
    page = opened.open(audit)
    assert page.text(".about summary") == "The crawl: spider products, preset best"
    page.find(".about summary")[0].click()
    assert "scrapy-neardup 0.1.0, Scrapy 2.19.0" in page.text(".about")
    assert page.text(".about code") == "NEARDUP_SCOPE = 'host'\nNEARDUP_DENY = ['<b>']"
    assert page.text(".look code") == 'NEARDUP_TITLES = "strict"'


def test_groups_that_differ_in_little_are_named(opened):
    audit = shop(products=1, copies=4)
    audit.differ(audit.entries[0], "a few words (Köln, <b>Bonn</b>)")
    page = opened.open(audit)
    assert page.text(".look h3") == "Pages that differ in numbers or a few words\n1"
    assert page.text(".crowds li") == (
        "4 pages that repeat https://shop.example/product/0.html: a few words (Köln, <b>Bonn</b>)"
    )


def test_a_selector_is_proposed_for_what_changes_by_itself(opened):
    audit = shop(products=1, copies=1)
    for number in range(2):
        audit.refetched(f"https://shop.example/{number}", "div.others", f"p.{'</p>' * number}")
    page = opened.open(audit)
    assert page.texts(".look h3") == [
        "Blocks that change by themselves\n1", "What the crawl asked\n2",
    ]  # fmt: skip
    assert page.text(".look pre") == 'NEARDUP_IGNORE = ["div.others"]'
    assert page.texts(".crowds li") == ["div.others on 2 pages"]


def test_experiments_are_listed_with_what_followed(opened):
    audit = shop(products=1, copies=1)
    audit.experiment("probe", "https://shop.example/x", "status <b>", "pages like it are nothing")
    audit.experiment("links", "https://shop.example/y", "a new page", of="https://shop.example/")
    page = opened.open(audit)
    assert page.text(".look h3") == "What the crawl asked\n2"
    page.find(".look summary")[0].click()
    assert page.texts(".addresses li") == [
        "probe: https://shop.example/x showed status <b>; then pages like it are nothing",
        "links: https://shop.example/y beside https://shop.example/ showed a new page",
    ]


def test_it_works_by_keyboard(opened):
    page = opened.open(shop(products=60, copies=3))
    chosen = lambda: page.text(".row[aria-current]").strip("▸▾\n").split("\n")[0]
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
    assert page.run("return document.activeElement.ariaCurrent") == "true"


def test_a_long_list_is_shown_in_parts(opened):
    page = opened.open(shop(products=510, copies=1))
    assert page.text(".tools p") == "510 drops in 510 groups"
    shown = "return document.querySelectorAll('.row').length"
    assert page.run(shown) == 500
    assert page.text(".list > .quiet") == "Show more of 10"
    page.run("document.querySelector('.list > .quiet').click()")
    assert page.run(shown) == 510
    assert page.find(".list > .quiet") == []


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
    page = opened.open(audit)
    page.difference()
    assert page.text(".why") == (
        "Dropped. An estimated 95.1 % of the text is the same as on the kept page,"
        " and 90.0 % is enough."
    )
    assert page.texts(".side del") == ["word200"]
    assert page.texts(".side ins") == ["added", "other"]
    assert page.texts(".side .omitted") == ["word0 word1"]
    assert "1 word only in the kept page, 2 words only in the other" in page.text(".texts > p")
    facts = dict(zip(page.texts(".facts dt"), page.texts(".facts dd"), strict=True))
    assert facts == {
        "resemblance": "0.951 needed 0.900", "distance": "4 of 64 bits",
        "contained": "100 % of this page in the kept one, 33 % of the kept one in this",
        "found": "by shared min-wise features", "rule": f"alike {RULES['alike']}",
        "learnt": "titles",
        "action": "drop",
    }  # fmt: skip
    assert page.texts(".page .other") == ["Two"]
    links = page.find(".pair a")
    assert [link.get_attribute("href") for link in links] == [
        "https://a.example/1", "https://a.example/2",
    ]  # fmt: skip
    assert {link.get_attribute("rel") for link in links} == {"noopener noreferrer nofollow"}
    page.find(".fold")[0].click()
    assert "word27" in " ".join(page.texts(".side:first-child"))


@pytest.mark.parametrize("seed", range(3))
def test_the_difference_is_one(opened, seed):
    """What is left of the difference on either side is that side's text."""
    source = random.Random(seed)
    words = [source.choice("abcdefgh") for _ in range(source.randrange(60))]
    other = [w for w in words if source.random() < 0.8] + source.choices("abij", k=seed * 3)
    source.shuffle(other[: seed * 10])
    page = difference(opened, " ".join(words) or "x", " ".join(other) or "y")
    for fold in page.find(".fold"):
        fold.click()
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
    assert "Not judged as content: 3 words in grey." in page.text(".texts > p")


def test_texts_in_another_order_are_not_said_to_be_others(opened):
    words = [f"word{number}" for number in range(8_000)]
    other = [*words[5_000:], "added", *words[:2_000], *words[2_001:5_000]]
    page = difference(opened, " ".join(words), " ".join(other))
    assert "Much of the text is in another order" in page.text(".texts > p")
    assert page.texts("del") == ["word2000"]
    assert page.texts("ins") == ["added"]


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


def test_on_a_phone_the_difference_is_in_the_text(opened):
    words = [f"word{number}" for number in range(40)]
    page = difference(opened, " ".join(words), " ".join([*words[:20], "new", *words[21:]]))
    assert len(page.find(".run .side")) == 2
    page.look(width=390, height=800)
    page.wait(lambda: page.find(".run.inline"))
    page.run("document.querySelector('.row.drop').click()")
    page.difference()
    assert page.text(".side") == " ".join([*words[:20], "word20 new", *words[21:]])


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
    audit = shop(products=3, copies=25)
    audit.orphaned(audit.entries[0], ["https://shop.example/lost"])
    page = opened.open(audit)
    page.look(width=width, dark=dark)
    page.browser.refresh()
    page.run("document.querySelector('.look li > button, .crowds button').click()")
    page.difference()
    page.run("document.querySelectorAll('.fold').forEach((fold) => fold.click())")
    assert page.find(".side .omitted")
    accessible(page)
    page.run("const s = document.querySelector('#search'); s.value = 'no such page';"
             "s.dispatchEvent(new Event('input'))")  # fmt: skip
    accessible(page)


def test_one_line_and_none_that_repeats(opened):
    audit = Audit()
    audit.kept("https://a.example/")
    page = opened.open(audit)
    assert page.text("h1") == "None of 1 page repeats another."
    assert page.text(".figure.repeated") == "repeat another\n0"
    assert page.find(".explorer") == []


def test_a_page_that_could_not_be_run_says_so(opened, tmp_path):
    page = opened.open(shop())
    assert json.loads(page.run("return JSON.stringify(document.getElementById('drops'))")) is None
    without = page.run("return document.querySelector('noscript').textContent")
    assert "This page needs JavaScript" in without
