"""Chromium without a window, driven by selenium."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS = "chromium", "chromium-browser", "google-chrome"
DRIVER = "chromedriver"


def missing() -> str:
    if not any(map(shutil.which, BROWSERS)):
        return "no Chromium is installed (Debian: chromium)"
    return "" if shutil.which(DRIVER) else "no ChromeDriver is installed (Debian: chromium-driver)"


def start() -> Chrome:
    """Start a browser; whoever calls ends it with ``quit()``."""
    # Selenium takes half a second, and each process that collects the tests has this module.
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    options.add_argument("--headless=new")
    options.add_argument("--disable-gpu")
    options.add_argument("--disable-dev-shm-usage")
    if os.geteuid() == 0:  # in a container
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return Chrome(options=options, service=ChromeService(shutil.which(DRIVER)))
