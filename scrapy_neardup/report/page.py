"""A self-contained web page: a frame, a style, a script, and data.

It loads nothing and runs only its own script, which a content security policy names by its hash.
Data is JSON in script elements of a type that no browser runs. ``<`` is escaped in that JSON, so
no text can end the element.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

_ASSETS = files(__package__).joinpath("assets")


def page(
    title: str,
    *,
    scripts: Sequence[str],
    early: Mapping[str, Any],
    late: Mapping[str, Any],
) -> Iterator[str]:
    """Yield the pieces of a page.

    `scripts` are modules in ``assets/``; the last one starts the page. `early` and `late` map
    element ids to data: `early` data comes before the script and is shown at once, `late` data
    after it.
    """
    style = _asset("report.css")
    script = (
        '"use strict";\n(() => {\n'
        + "\n".join(_asset(f"{name}.js") for name in scripts)
        + "})();\n"
    )
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    yield (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript><p>This page needs JavaScript. It runs its own script only, and loads"
        " nothing.</p></noscript>\n"
    )
    yield from _data(early)
    yield f"<script>{script}</script>\n"
    yield from _data(late)
    yield "</body>\n</html>\n"


def _data(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f'<script type="application/json" id="{name}">'
        yield inert(value)
        yield "</script>\n"


def inert(value: Any) -> str:
    """Return `value` as JSON that is safe in a script element, for any texts.

    Lone halves of surrogate pairs become ``?``.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").encode("utf-8", "replace").decode()


def _asset(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the name of an inline element with this `content` in a content security policy."""
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()
