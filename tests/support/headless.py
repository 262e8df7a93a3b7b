"""Chromium without a window, driven by selenium."""

import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

BROWSERS = "chromium", "chromium-browser", "google-chrome"
DRIVER = "chromedriver"


def missing() -> str:
    """Return what this machine lacks to run a browser, or ``""``."""
    if not any(map(shutil.which, BROWSERS)):
        return "no Chromium is installed (Debian: chromium)"
    return "" if shutil.which(DRIVER) else "no ChromeDriver is installed (Debian: chromium-driver)"


def start() -> webdriver.Chrome:
    """Start a browser; whoever calls ends it with ``quit()``."""
    options = Options()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    options.add_argument("--headless=new")
    options.add_argument("--disable-gpu")
    options.add_argument("--disable-dev-shm-usage")
    if os.geteuid() == 0:  # in a container
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
