"""The notice board beside the fingerprints, on one Redis and in a cluster.

Rule of this room: a topic is one hash and a call one script on it; topics that nobody posts
to are gone after a day.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from scrapy_neardup.stores.redis_layout import EXCHANGE_SCRIPT

_DAY = 86_400
_MOST_MEMBERS = 64


def topic_key(prefix: str, topic: str) -> str:
    """Return the name of a topic's hash."""
    return f"{prefix}notices:{quote(topic, safe='', errors='surrogatepass')}"


async def exchange(client: Any, key: str, member: str, value: bytes) -> list[bytes]:
    """Post a value and return all of the topic; see `Store.exchange`."""
    name = member.encode("utf-8", "surrogatepass")
    values: list[bytes] = await client.eval(
        EXCHANGE_SCRIPT, 1, key, name, value, _DAY, _MOST_MEMBERS
    )
    return values
