"""The language of a page: declared, or guessed by py3langid (the extra ``language``).

The library is imported with the first detector. A text that is too short has no language.
"""

from __future__ import annotations

import re
from importlib import import_module

from lxml.html import HtmlElement

from scrapy_neardup.errors import INSTALL, ConfigurationError

MIN_CHARACTERS = 100
"""Minimum characters of a text whose language is guessed."""

MAX_CHARACTERS = 2_000
"""Maximum number of leading characters that a guess reads."""

_NO_LANGUAGE = "zxx"
"""ISO 639-2 code of content without a language."""


class LanguageDetector:
    """Guesses the language of a text; picklable. Loading takes a second, a guess some 0.4 ms.

    Raises `ConfigurationError` if the library isn't installed.
    """

    def __init__(self) -> None:
        try:
            self._classify = import_module("py3langid").classify
        except ImportError:
            raise ConfigurationError(
                f"NEARDUP_DETECT_LANGUAGE needs another library: {INSTALL.format('[language]')}"
            ) from None

    def __call__(self, text: str) -> str:
        """Return the code of a text's language, ``""`` if the text is too short."""
        if len(text) < MIN_CHARACTERS:
            return ""
        language, _ = self._classify(text[:MAX_CHARACTERS])
        return "" if language == _NO_LANGUAGE else str(language)


_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_PRIMARY = re.compile(r"[A-Za-z]{2,8}(?![A-Za-z0-9])")


def declared_language(root: HtmlElement) -> str:
    """Return the language that a page declares, without region.

    The ``lang`` of the root counts, or else ``<meta http-equiv="Content-Language">`` with one
    language, as in browsers (HTML, section 4.2.5.3).
    """
    tag = (root.get("lang") or root.get("xml:lang") or root.get(_XML_LANG) or "").strip()
    if not tag:
        for meta in root.iterfind("./head/meta[@http-equiv]"):
            if (meta.get("http-equiv") or "").lower() == "content-language":
                tag = (meta.get("content") or "").strip()
                break
        if "," in tag:
            return ""
    language = _PRIMARY.match(tag)
    return language[0].lower() if language else ""
