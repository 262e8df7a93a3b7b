"""The record of a namespace's parameters: fingerprints of two kinds never mix.

Rule of this room: the first crawl writes the record; a later one adopts the table design
that it names and refuses to work with other parameters.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.stores.base import StoreOptions
from scrapy_neardup.stores.redis.layout import FORMAT, OPEN_SCRIPT, Layout
from scrapy_neardup.urls import redact_store

DIGEST = "digest"
"""The field that stands for all others, for scripts to compare."""


async def agree(
    client: Any, key: str, uri: str, options: StoreOptions, layout: Layout
) -> tuple[Layout, str]:
    """Record the parameters under `key`, or compare them with what is recorded there.

    Returns
    -------
    layout, digest
        The table design to use, and the digest of all that was agreed on.

    Raises
    ------
    StoreMismatchError
        The namespace was made with other parameters; the message shows both.
    """
    ours = {"format": FORMAT, "max_distance": options.max_distance, **options.schema}
    design = {"blocks": layout.blocks, "split": layout.split}
    words = [str(word) for pair in {**ours, **design}.items() for word in pair]
    words += [DIGEST, hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]]
    reply = [word.decode() for word in await client.eval(OPEN_SCRIPT, 1, key, *words)]
    theirs = dict(zip(reply[::2], reply[1::2], strict=True))
    compared = dict.fromkeys([*ours, *theirs])
    differences = [
        f"{name} is {theirs.get(name, 'absent')} there and {ours.get(name, 'absent')} here"
        for name in compared
        if name not in {*design, DIGEST} and theirs.get(name) != str(ours.get(name))
    ]
    if differences:
        raise StoreMismatchError(
            f"NEARDUP_STORE: namespace {options.namespace!r} of {redact_store(uri)} was made with "
            f"other parameters: {'; '.join(differences)}. Take the same ones, another "
            f"NEARDUP_NAMESPACE, or clear it"
        )
    adopted = replace(layout, blocks=int(theirs["blocks"]), split=int(theirs["split"]))
    return adopted, theirs[DIGEST]
