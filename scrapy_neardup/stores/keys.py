"""The key that the pages of a namespace are hashed with, and its record in the store.

Anyone who writes a page and knows the key can compute how it is stored, and so forge a page that
another site's page seems to repeat. So a new namespace makes its own key, unless one is requested.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from scrapy_neardup.errors import StoreMismatchError
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.fingerprints.hashing import key_digest

OWN: Final = "own"
"""Kind of a key that the namespace has made."""
FIELDS: Final = ("hash_key", "key")
"""Names of the fields of a `KeyRecord`. The second field is a key, and is never shown."""


class KeyRecord(NamedTuple):
    """A namespace's record of its key.

    `kind` is ``own``, ``public``, or the digest of the requested key; `own` is the
    namespace's own key in hexadecimal digits.
    """

    kind: str
    own: str = ""

    @classmethod
    def new(cls, asked: bytes | None) -> KeyRecord:
        """Return the record of a new namespace, with its own key unless one is requested."""
        if asked is None:
            return cls(OWN, secrets.token_hex(16))
        return cls(key_digest(asked) or "public")

    @classmethod
    def read(cls, fields: Mapping[str, object]) -> KeyRecord:
        """Return the record from the fields of a namespace."""
        kind, own = (str(fields.get(name, "")) for name in FIELDS)
        return cls(kind, own)

    def fields(self) -> dict[str, str]:
        """Return the fields of the record."""
        return {name: value for name, value in zip(FIELDS, self, strict=True) if value}

    def key(self, asked: bytes | None, where: str) -> bytes:
        """Return the key of the namespace; errors call the namespace `where`.

        Raises `StoreMismatchError` if another key is requested, or if the store doesn't hold it
        and none is requested.
        """
        key: bytes | None
        match self.kind:
            case "own":
                key, made = bytes.fromhex(self.own), "a key of its own"
            case "public":
                key, made = PUBLIC_KEY, "the public key"
            case digest:
                key, made = asked if digest == key_digest(asked) else None, "another key"
        if key is not None and asked in (None, key):
            return key
        raise StoreMismatchError(
            f"NEARDUP_STORE: {where} was made with {made}, and its pages can't be compared with"
            " those of this key. Set NEARDUP_HASH_KEY as it was then (or leave it unset if the"
            " store made the key), or use another NEARDUP_NAMESPACE or store"
        )
