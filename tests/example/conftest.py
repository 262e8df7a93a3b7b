"""What the tests of the example share: a small site, rendered once per process."""

import pytest
from docsite.library import load
from docsite.site import Site

MODULES = (
    "bisect", "cmd", "colorsys", "copy", "encodings.cp1250", "encodings.cp1251",
    "encodings.cp1252", "fnmatch", "glob", "heapq", "html", "html.entities", "html.parser",
    "json", "json.decoder", "json.encoder", "json.scanner", "os", "platform", "sys", "textwrap",
)  # fmt: skip


@pytest.fixture(scope="session")
def modules():
    return MODULES


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Their documentation, rendered by this Python."""
    return load(MODULES, cache=tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="session")
def site(library):
    return Site(library)
