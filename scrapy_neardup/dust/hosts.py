"""The hosts of a crawl, in bounded memory: those that were met last."""

from __future__ import annotations

from typing import Final

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.dust.host import Host

MAX_HOSTS: Final = 4_096
"""Maximum number of hosts."""

MAX_BYTES: Final = 64 << 20
"""Maximum bytes of all hosts, beyond which those that were met longest ago are forgotten."""

_MEASURED: Final = 256
"""Number of look-ups after which the bytes are counted."""


class Hosts:
    """Host name -> what its addresses have shown."""

    def __init__(self) -> None:
        self._hosts: BoundedDict[str, Host] = BoundedDict(MAX_HOSTS)
        self._asked = 0

    def get(self, name: str) -> Host | None:
        """Return a host; None where nothing is known of it."""
        return self._hosts.get(name)

    def add(self, name: str, host: Host) -> None:
        """Take a host in, in place of what was known of it."""
        self._hosts[name] = host

    def met(self, name: str) -> Host:
        """Return a host whose page was judged, from now on the one that was met last."""
        if name not in self._hosts:
            self._hosts[name] = Host()
        self._hosts.move_to_end(name)
        self._asked += 1
        if not self._asked % _MEASURED:
            self._forget()
        return self._hosts[name]

    def items(self) -> list[tuple[str, Host]]:
        """Return all hosts by name, the one that was met last first."""
        return list(reversed(self._hosts.items()))

    def _forget(self) -> None:
        held = sum(host.nbytes for host in self._hosts.values())
        while held > MAX_BYTES and len(self._hosts) > 1:
            _, oldest = self._hosts.popitem(last=False)
            held -= oldest.nbytes
