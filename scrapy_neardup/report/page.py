"""A self-contained web page: a frame, a style, a script, data, and texts that are shown as text.

It loads nothing and runs only its own script, which a content security policy names by its hash.
Data is JSON in script elements of a type that no browser runs. ``<`` is escaped in that JSON, so
no text can end the element.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

_ASSETS = files(__package__).joinpath("assets")

_SIGNS = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Controls, marks of direction and what has no width: shown by name, as they may deceive."""


def page(
    title: str, body: Iterable[str], *, scripts: Sequence[str], data: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the pieces of a page: `body`, `data` by the ids of their elements, and a script.

    `scripts` are modules in ``assets/``; the last one starts the script.
    """
    style = _asset("report.css")
    modules = "\n".join(_asset(f"{name}.js") for name in scripts)
    script = f'"use strict";\n(() => {{\n{modules}}})();\n'
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    )
    yield (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from body
    for name, value in data.items():
        yield f'<script type="application/json" id="{name}">'
        yield inert(value)
        yield "</script>\n"
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def inert(value: Any) -> str:
    """Return `value` as JSON that is safe in a script element, for any texts.

    Lone halves of surrogate pairs become ``?``.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").encode("utf-8", "replace").decode()


def shown(text: str, longest: int = 400) -> str:
    """Return any text as markup that shows its first `longest` characters, as text."""
    text = re.sub(r"[\t\n\f\r ]+", " ", text.encode("utf-8", "replace").decode())
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text):,} characters)"
    named = _SIGNS.sub(
        lambda sign: f'<span class="sign">U+{ord(sign[0]):04X}</span>', escape(text)
    )
    return f"<bdi>{named}</bdi>"


def address(url: str, longest: int = 90) -> str:
    """Return a URL as markup: a link if a browser may follow it, else text."""
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        return f'<span class="address">{shown(url, longest)}</span>'
    href = escape(url.encode("utf-8", "replace").decode())
    return (
        f'<a class="address" href="{href}" target="_blank"'
        f' rel="noopener noreferrer nofollow">{shown(url, longest)}</a>'
    )


def listed(items: Iterable[str], kind: str = "plain", *, folded: int | None = None) -> str:
    """Return markup as a list; those after the first `folded` are shown when asked for."""
    rows = [f"<li>{item}</li>" for item in items]
    first, rest = (rows, []) if folded is None else (rows[:folded], rows[folded:])
    whole = f'<ul class="{kind}">{"".join(first)}</ul>' if first else ""
    if not rest:
        return whole
    return (
        f"{whole}<details><summary>Show {len(rest):,} {'more' if first else 'of them'}</summary>"
        f'<ul class="{kind}">{"".join(rest)}</ul></details>'
    )


def choice(name: str, **wanted: str) -> str:
    """Return a button that lists the drops with the `wanted` values."""
    chosen = escape(json.dumps(wanted))
    return f'<button type="button" class="quiet" data-filter="{chosen}">{shown(name, 90)}</button>'


def _asset(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the name of an inline element with this `content` in a content security policy."""
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()
