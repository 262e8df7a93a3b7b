"""The notice board of an embedded store, for `Store.exchange`.

It is bounded, so a member that posts under ever new names doesn't fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from scrapy_neardup.stores.base import MAX_MEMBERS

MAX_TOPICS: Final = 4096
"""Maximum number of topics; those used last stay. A topic is the knowledge about a site; if 4,096
others were used since, its site isn't being crawled."""


class Notice(NamedTuple):
    """A member's value of a topic; None for a removed one."""

    topic: str
    member: str
    value: bytes | None


class NoticeBoard:
    """Values by topic and member."""

    def __init__(self) -> None:
        # Both from the one that was used, or changed, longest ago.
        self._topics: dict[str, dict[str, bytes]] = {}

    @property
    def nbytes(self) -> int:
        """Memory of the values in bytes."""
        return sum(len(value) for members in self._topics.values() for value in members.values())

    def post(
        self, topic: str, member: str, value: bytes | None
    ) -> tuple[list[bytes], list[Notice]]:
        """Post a value, if there is one; return all values of the topic, and the changes."""
        if value is None:
            return list(self._topics.get(topic, {}).values()), []
        members = self._topics.pop(topic, {})
        self._topics[topic] = members
        changed = []
        if members.get(member) != value:
            members.pop(member, None)
            members[member] = value
            changed.append(Notice(topic, member, value))
        if len(members) > MAX_MEMBERS:
            oldest = next(iter(members))
            del members[oldest]
            changed.append(Notice(topic, oldest, None))
        if len(self._topics) > MAX_TOPICS:
            unused = next(iter(self._topics))
            changed += [Notice(unused, each, None) for each in self._topics.pop(unused)]
        return list(members.values()), changed

    def load(self, notices: Iterable[tuple[str, str, bytes]]) -> None:
        """Fill an empty board with notices in the order of posting."""
        for topic, member, value in notices:
            self.post(topic, member, value)
