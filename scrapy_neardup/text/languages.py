"""The language of a text whose page doesn't declare it: by py3langid, the extra ``language``.

The library is imported when the first detector is made. A text too short to tell has no language.
"""

from __future__ import annotations

from importlib import import_module

from scrapy_neardup.errors import ConfigurationError

MIN_CHARACTERS = 100
"""Minimum characters of a text whose language is guessed."""

MAX_CHARACTERS = 2_000
"""Maximum characters that a guess looks at: the first ones."""

_NO_LANGUAGE = "zxx"
"""What ISO 639-2 calls content that is in no language."""


class LanguageDetector:
    """Guesses the language of a text; picklable. Loading takes a second, a guess some 0.4 ms.

    Raises `ConfigurationError` where the library isn't installed.
    """

    def __init__(self) -> None:
        try:
            self._classify = import_module("py3langid").classify
        except ImportError:
            raise ConfigurationError(
                "NEARDUP_DETECT_LANGUAGE needs another library:"
                " pip install 'scrapy-neardup[language]'"
            ) from None

    def __call__(self, text: str) -> str:
        """Return the code of a text's language, ``""`` where it is too short to tell."""
        if len(text) < MIN_CHARACTERS:
            return ""
        language, _ = self._classify(text[:MAX_CHARACTERS])
        return "" if language == _NO_LANGUAGE else str(language)
