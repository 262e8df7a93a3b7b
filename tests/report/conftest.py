import headless
import pytest
from click.testing import CliRunner

from scrapy_neardup.cli import main


@pytest.fixture(scope="session")
def chromium():
    browser = headless.start()
    yield browser
    browser.quit()


class Opened:
    """A page in the browser."""

    def __init__(self, browser):
        self.browser = browser

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_elements("css selector", selector)

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(e => (e.innerText ?? e.textContent).trim())", selector,
        )  # fmt: skip

    def text(self, selector):
        [text] = self.texts(selector)
        return text

    def look(self, *, width=1300, height=1000, dark=False):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def wait(self, holds):
        # Loaded here, as all processes load this file, and few tests need a browser.
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 60).until(lambda _: holds())

    def difference(self):
        """Wait until the difference of the pair is shown."""
        self.wait(lambda: self.find(".texts > *"))

    def pair(self, audit):
        """Open the report on an audit, at its first drop."""
        page = self.open(audit)
        page.run("document.querySelector('.drop').open = true")
        page.difference()
        return page

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def opened(chromium, tmp_path):
    """Open the report on an audit. Nothing may be in the console at the end."""

    def open_(audit):
        audit.write(tmp_path / "audit.jsonl")
        output = str(tmp_path / "report.html")
        made = CliRunner().invoke(
            main, ["report", str(tmp_path / "audit.jsonl"), "--output", output]
        )
        assert made.exit_code == 0, made.output
        opened.look()
        chromium.get(f"file://{output}")
        return opened

    opened = Opened(chromium)
    opened.open = open_
    opened.complaints()
    yield opened
    assert opened.complaints() == []
    assert len(chromium.window_handles) == 1
