"""The page in which pairs are labelled, and what becomes of the labels."""

import json

import headless
import pytest
from audits import Audit
from click.testing import CliRunner
from selenium.webdriver import ActionChains

from scrapy_neardup.cli import main

if lacking := headless.missing():
    pytest.skip(f"pages aren't opened in a browser: {lacking}", allow_module_level=True)

HOSTILE = (
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    "\u202egnp.exe <!--<script> ${alert(1)}",
)


@pytest.fixture
def labelling(opened, tmp_path):
    """Open the page with three hostile pairs of equal texts; return it, and its folder."""
    audit = Audit()
    for number, text in enumerate(HOSTILE):
        words = " ".join(f"w{number}x{each}" for each in range(60))
        for copy in range(2):
            address = f"javascript:owned{number}#{copy}{text}"
            audit.kept(address, title=text, text=f"{words} {text}")
    opened.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    return opened.open(audit, "tune", "--label", "5"), tmp_path


def test_labels_are_given_saved_loaded_and_read(labelling):
    page, folder = labelling
    status = lambda: page.text("[role=status]")
    assert status() == "Pair 1 of 3; 0 labelled."
    page.find(".chip")[0].click()
    assert status() == "Pair 2 of 3; 1 labelled."
    ActionChains(page.browser).send_keys("u").perform()
    ActionChains(page.browser).send_keys("f", "t").perform()  # the last one is said anew
    assert status() == "Pair 3 of 3; 3 labelled."
    assert [chip.get_attribute("aria-pressed") for chip in page.find(".chip")[:3]] == [
        "true", "false", "false",
    ]  # fmt: skip
    page.find(".chip")[5].click()
    saved = folder / "labels.jsonl"
    page.wait(lambda: saved.exists() and saved.read_text())
    rows = [*map(json.loads, saved.read_text().splitlines())]
    assert [row["label"] for row in rows] == ["true", "unknown", "true"]
    assert {(row["distance"], row["pairs"]) for row in rows} == {(0, 3)}
    assert {row["b"] for row in rows} == {
        f"javascript:owned{number}#1{text}" for number, text in enumerate(HOSTILE)
    }
    page.browser.refresh()
    assert status() == "Pair 1 of 3; 0 labelled."
    page.find("input")[0].send_keys(str(saved))
    page.wait(lambda: status() == "Pair 1 of 3; 3 labelled.")

    shown = folder / "labelled.html"
    done = CliRunner().invoke(main, ["tune", "--labels", str(saved), "--output", str(shown)])
    assert done.output.splitlines()[2].split()[:5] == ["0", "3", "2", "0", "1"]
    page.browser.get(f"file://{shown}")
    assert page.text("h1") == "Precision and recall within k bits."
    assert len(page.find("circle")) == 4
    assert page.find("figcaption")[0].text.startswith("precision recall over k")


def test_hostile_pages_are_only_shown(labelling):
    page, _ = labelling
    for _ in HOSTILE:
        page.difference()
        assert page.browser.title == "Labelling"
        page.run("document.querySelectorAll('.fold').forEach((fold) => fold.click())")
        assert page.find("img, main script, main style, a") == []
        assert not set(page.run("return document.body.innerText")) & {"\u202e"}
        page.find(".chip")[4].click()
    assert page.run("return document.querySelector('meta[http-equiv]').content").startswith(
        "default-src 'none'; script-src 'sha256-"
    )
