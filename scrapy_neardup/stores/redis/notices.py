"""The notice board beside the fingerprints, on one Redis and in a cluster.

Rule of this room: a topic is one hash and a call one script on it; topics that nobody posts
to are gone after a day, or when so many others were posted to since.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from scrapy_neardup.stores.redis.layout import EXCHANGE_SCRIPT

MOST_TOPICS = 16_384
"""As a topic is a host's furniture, so many hosts may be crawled at a time. In a broad crawl a
day has far more of them, and their furniture might take more than their pages."""
_DAY = 86_400
_MOST_MEMBERS = 64


def topic_key(prefix: str, topic: str) -> str:
    """Return the name of a topic's hash."""
    return f"{prefix}notices:{quote(topic, safe='', errors='surrogatepass')}"


async def exchange(client: Any, key: str, member: str, value: bytes | None) -> list[bytes]:
    """Post a value and return all of the topic; see `Store.exchange`."""
    if value is None:
        read: list[bytes] = await client.hvals(key)
        return read
    name = member.encode("utf-8", "surrogatepass")
    values: list[bytes] = await client.eval(
        EXCHANGE_SCRIPT, 1, key, name, value, _DAY, _MOST_MEMBERS
    )
    # Beside the topics: when each was posted to.
    head, _, _ = key.rpartition("notices:")
    board = f"{head}notices" + "}" * head.startswith("{")
    await client.zadd(board, {key: time.time()})
    if (more := await client.zcard(board) - MOST_TOPICS) > 0:
        for topic, _ in await client.zpopmin(board, more):
            await client.unlink(topic)
    return values
