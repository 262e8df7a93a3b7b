"""The audit file: JSON lines, with one line for each verdict.

Each line is one ``write`` in append mode. So nothing is lost when the process is killed, and two
crawls may share a file. A disk that is full ends the audit, never the crawl.

A verdict's line has the keys of the ``scan`` command's output (``page``, ``verdict``, ``reason``,
``of``, ``distance``, ``resemblance``, ``fingerprint``, ``tokens``) and ``time``, ``id``,
``of_id``, ``action``, ``title`` and ``headings``. A near-duplicate also has ``found``, ``learnt``
and ``threshold`` (as in `Verdict`), a dropped or flagged page ``links``. With texts there are
``text``, the judged text as zlib-compressed UTF-8 in base64; ``paths``, packed in the same way,
the DOM path of each of its lines in four hexadecimal digits; and ``omitted``, ranges of its
characters that count less or not at all, each with the reason. The other lines have an ``event``:

- ``begun`` opens a crawl (`about_crawl`).
- ``orphaned`` lists pages that were dropped as duplicates of a page that was withdrawn later.
- ``differ`` says how the pages of a group differ (`scrapy_neardup.report.differences`).
- ``skipped`` is a request that wasn't made, ``claim`` a claim in force at the end.
- ``refetched`` is a page that was requested twice. ``selectors`` has the parts that differed,
  ``changing`` the numbers of the DOM paths that are now known to change with each response on
  pages of that ``place`` (`scrapy_neardup.report.crawldiff.place`).
- ``experiment`` is another request, what it showed and what followed; its ``kind`` is ``links``,
  ``probe`` or ``claim``.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import scrapy

from scrapy_neardup import __version__
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.judge.evidence import short_paths
from scrapy_neardup.report.crawldiff import place
from scrapy_neardup.settings.catalogue import OPTIONS
from scrapy_neardup.text import OMITTED, Form, parse_html
from scrapy_neardup.text.treediff import changed_selectors
from scrapy_neardup.urls import redact, redact_store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.pagestate import Visit
    from scrapy_neardup.text import Content

MAX_TEXT_BYTES = 64 * 1024
"""Maximum size of a page's compressed text in bytes; the end of a longer one is cut off."""

MAX_TITLE_LENGTH = 300
"""Maximum length of a title or heading in the file, in characters."""

MAX_HEADINGS = 8
"""Maximum number of a page's headings in the file."""


class AuditFile:
    """An open audit file, which holds the pages' texts if `with_text`.

    An existing file grows; a new file is readable by its owner alone. Raises `ConfigurationError`
    if it can't be opened, and `OSError` if a line can't be appended.
    """

    def __init__(self, path: str, *, with_text: bool = False) -> None:
        self._with_text = with_text
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            todo = "name a file in it" if os.path.isdir(path) else "its folder must exist"  # noqa: PTH112
            raise ConfigurationError(
                f"NEARDUP_AUDIT: can't write {path!r} ({error.strerror}); {todo}"
            ) from None
        # A crash of the machine may have cut the last line short: don't append to it.
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def verdict(self, url: str, visit: Visit, links: int | None = None) -> None:
        """Append the verdict on the page at `url`, and the action.

        `links` is the number of links of the page that no dropped page had before.
        """
        verdict = visit.verdict
        match = verdict.match
        line = {
            "time": _now(),
            "page": url,
            "id": _hex(verdict.page_id),
            "verdict": verdict.decision,
            "reason": verdict.reason,
            "rule": verdict.rule or None,
            "action": visit.action,
            "of": match and match.url,
            "of_id": match and _hex(match.page_id),
            "distance": match and match.distance,
            "resemblance": match and match.resemblance,
            "fingerprint": None if verdict.fingerprint is None else _hex(verdict.fingerprint),
            "tokens": verdict.tokens,
        }
        more: dict[str, Any] = {
            **(match.why() if match else {}),
            "nearest": verdict.nearest.as_nearest() if verdict.nearest else None,
            "detail": verdict.detail or None,
            "links": links,
        }
        if visit.content is not None:
            more |= content_keys(visit.content, with_text=self._with_text)
        self._append(line | {key: value for key, value in more.items() if value is not None})

    def event(self, event: str, **keys: Any) -> None:
        """Append a line about something other than a page."""
        self._append({"time": _now(), "event": event, **keys})

    def refetched(self, url: str, bodies: tuple[bytes, bytes], *, changing: Iterable[int]) -> None:
        """Append the differences of two responses to one request, and all known changes."""
        # Parsed again, because the spider may change the trees of its pages meanwhile.
        selectors = changed_selectors(*map(parse_html, bodies))
        self.event(
            "refetched",
            page=redact(url),
            place=place(url),
            selectors=selectors,
            changing=sorted(changing),
        )

    def close(self) -> None:
        """Close the file; there is nothing to flush."""
        os.close(self._file)

    def _append(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n")


def content_keys(content: Content, *, with_text: bool) -> dict[str, Any]:
    """Return the keys about a page's content; those without a value are None."""
    headings = [heading[:MAX_TITLE_LENGTH] for heading in content.headings[:MAX_HEADINGS]]
    keys = {"title": content.title[:MAX_TITLE_LENGTH] or None, "headings": headings or None}
    if not with_text:
        return keys
    omitted, start, paths = [], 0, ""
    forms = content.blocks.forms
    kinds = [form in {Form.NAMED, Form.NAMED_LINKS} for form in forms]
    names = short_paths(content.blocks.paths, kinds, [form == Form.LINKS for form in forms])
    for block, name in zip(content.blocks, names, strict=True):
        end = start + len(block.text)
        paths += f"{name:04x}" * (1 + block.text.count("\n"))
        if why := OMITTED.get(block.form):
            omitted.append((start, end, why))
        start = end + 1  # blocks are lines of `Content.text`
    packed = {"text": pack_text(content.text), "paths": pack_text(paths)}
    return keys | packed | {"omitted": omitted or None}


def pack_text(text: str) -> str:
    """Return `text` as an audit file holds it, cut off if it is too long."""
    while len(packed := zlib.compress(text.encode(errors="replace"))) > MAX_TEXT_BYTES:
        text = text[: len(text) * MAX_TEXT_BYTES * 9 // (len(packed) * 10)]
    return base64.b64encode(packed).decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _hex(value: int) -> str:
    return f"{value:016x}"


_SHOWN_ELSEWHERE = {"NEARDUP_STORE", "NEARDUP_AUDIT"}


def about_crawl(crawler: Crawler, uri: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the versions, the spider, the store, and the ``NEARDUP_*`` settings of a crawl.

    Settings are text in Python's notation; secrets are left out. `schema` has the parameters of
    its fingerprints (`Parameters.schema`).
    """
    given = {
        option.setting: crawler.settings[option.setting]
        for option in OPTIONS.values()
        if option.setting in crawler.settings and not option.is_secret
    }
    return {
        "version": __version__,
        "scrapy": scrapy.__version__,
        "bot": str(crawler.settings["BOT_NAME"]),
        "spider": (crawler.spider or crawler.spidercls).name,
        "store": redact_store(uri),
        "preset": str(crawler.settings.get("NEARDUP_PRESET", "best")),
        "settings": {
            name: repr(value)
            for name, value in sorted(given.items())
            if value is not None and name not in _SHOWN_ELSEWHERE
        },
        "schema": dict(schema),
    }
