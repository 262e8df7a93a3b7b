"""The notice board beside the fingerprints, on one Redis and in a cluster.

Rule of this room: a topic is one hash and a call one script on it; a topic is gone a day after its
last post, or when `MOST_TOPICS` others were posted to since.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from scrapy_neardup.stores.redis.layout import EXCHANGE_SCRIPT

MOST_TOPICS = 16_384
"""Maximum number of topics, and so of sites crawled at a time. A broad crawl meets far more of
them in a day, and what is learnt of them might take more memory than their pages."""
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
