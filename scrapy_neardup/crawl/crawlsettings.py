"""The ``NEARDUP_*`` settings of a crawl, read from Scrapy's and checked.

An unknown name and a value that can't be used stop the crawl at its start, with a message that
says what would be right. As in Scrapy, strings are accepted for every setting, as the command line
and the environment give them (``-s NEARDUP_MAX_DISTANCE=3``).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import quote

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import OPTIONS, Crawling, options_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings(Crawling):
    """The options of a crawl; `parameters` has those that decide what a near-duplicate is."""

    parameters: Parameters

    def __post_init__(self) -> None:
        Crawling.__post_init__(self)
        if self.audit_text and not self.audit:
            raise ConfigurationError(
                "NEARDUP_AUDIT_TEXT writes into the audit file: set NEARDUP_AUDIT to its path"
            )
        if self.base and self.group_budget > 1:
            raise ConfigurationError(
                "NEARDUP_GROUP_BUDGET can't be kept with NEARDUP_BASE, which doesn't count the"
                " pages of a group; load it into the store instead: scrapy-neardup load"
            )


def read_settings(settings: BaseSettings) -> CrawlSettings:
    """Return the checked settings; `ConfigurationError` if one is unknown, or can't be used."""
    _reject_unknown(settings)
    given = {
        name: value
        for name, option in OPTIONS.items()
        if (value := settings.get(option.setting)) is not None
    }
    own = {name: given.pop(name) for name in options_of(Crawling) if name in given}
    preset = OPTIONS["preset"].read(own.get("preset", OPTIONS["preset"].default))
    return CrawlSettings(parameters=Parameters.of_preset(preset, **given), **own)


def resolve_namespace(template: str | None, *, bot: str, spider: str, now: str) -> str:
    """Return the namespace: ``BOT.SPIDER`` unless ``NEARDUP_NAMESPACE`` is set.

    ``%(time)s`` becomes `now`, and another placeholder is a `ConfigurationError`; characters
    outside ``[A-Za-z0-9._-]`` are percent-encoded.
    """
    if template is None:
        name = f"{bot}.{spider}"
    else:
        name = template.replace("%(time)s", now)
        if "%(" in name:
            raise ConfigurationError(
                f"NEARDUP_NAMESPACE: the only placeholder is '%(time)s', not as in {template!r}"
            )
    return quote(name, safe="").replace("~", "%7E")


_MEANT = {
    "THRESHOLD": "NEARDUP_MIN_RESEMBLANCE",
    "SIMILAR": "NEARDUP_MIN_RESEMBLANCE",
    "JACCARD": "NEARDUP_MIN_RESEMBLANCE",
    "HAMMING": "NEARDUP_MAX_DISTANCE",
    "BITS": "NEARDUP_MAX_DISTANCE",
    "EXCLUDE": "NEARDUP_DENY",
    "NGRAM": "NEARDUP_SHINGLE_SIZE",
    "REDIS": "NEARDUP_STORE",
    "SITEMAP": "NEARDUP_KEEP_SITEMAP",
    "LOG": "NEARDUP_AUDIT",
}
"""Part of a misspelt name -> the setting that is probably meant."""


def _reject_unknown(settings: BaseSettings) -> None:
    known = [option.setting for option in OPTIONS.values()]
    for key in map(str, settings):
        if key.startswith("NEARDUP_") and key not in known:
            meant = next((name for word, name in _MEANT.items() if word in key), None)
            close = [meant] if meant else get_close_matches(key, known, n=1, cutoff=0.75)
            hint = f"did you mean {close[0]}?" if close else "docs/settings.md has them all"
            raise ConfigurationError(f"{key} is not a setting of scrapy-neardup; {hint}")
