"""The URI of a Redis is read and checked here, before it is used.

An error names the parameter, or the character in the wrong place. It quotes only the part of the
URI that `scrapy_neardup.urls.redact_store` shows, because what looks like a host, a port or a
parameter may be part of a password.
"""

from __future__ import annotations

import math
import re
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.urls import redact_store

Parser = tuple[Callable[[str], Any], str]
"""Function that reads a parameter, and the permitted values in words."""


def _seconds(word: str) -> float:
    number = float(word)
    if not 0 < number < math.inf:
        raise ValueError(word)
    return number


_FLAGS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_TEXT, _FLAG = (str, "text"), (lambda word: _FLAGS[word.lower()], "yes or no")
_NUMBER, _WHOLE = (float, "a number"), (int, "a whole number")
_ANY: Final[Mapping[str, Parser]] = {
    **dict.fromkeys(("username", "password", "client_name"), _TEXT),
    **dict.fromkeys(
        ("socket_timeout", "socket_connect_timeout"), (_seconds, "a number of seconds above 0")
    ),
    "health_check_interval": _NUMBER,
    "socket_keepalive": _FLAG,
    **dict.fromkeys(("max_connections", "protocol"), _WHOLE),
}
_TLS: Final[Mapping[str, Parser]] = {
    **dict.fromkeys(("ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_ca_data"), _TEXT),
    **dict.fromkeys(("ssl_cert_reqs", "ssl_ciphers"), _TEXT),
    "ssl_check_hostname": _FLAG,
    "ssl_min_version": (
        lambda word: ssl.TLSVersion(int(word)),
        "the number of a member of ssl.TLSVersion",
    ),
}
_SERVER: Final[Mapping[str, Parser]] = {**_ANY, "db": _WHOLE}
_CLUSTER: Final[Mapping[str, Parser]] = {**_ANY, "require_full_coverage": _FLAG}
PARAMETERS: Final[Mapping[str, Mapping[str, Parser]]] = {
    "redis": _SERVER,
    "unix": _SERVER,
    "rediss": {**_SERVER, **_TLS, "ssl_ca_path": _TEXT, "ssl_password": _TEXT},
    "redis+sentinel": {**_ANY, **{f"sentinel_{name}": read for name, read in _ANY.items()}},
    "redis+cluster": _CLUSTER,
    "rediss+cluster": {**_CLUSTER, **_TLS},
}
"""Scheme -> parameters that may follow the ``?``, by redis-py's names, and their parsers."""

_ONE: Final = "HOST:PORT/DB", r"[^,/]*(/(?P<db>[0-9]*))?/*"
_NODES: Final = "HOST:PORT,HOST:PORT", ",*[^,/][^/]*/*"
_FORMS: Final = {
    "redis": _ONE,
    "rediss": _ONE,
    "unix": ("/PATH?db=DB", "[^/]*(?P<name>/.+)"),
    "redis+sentinel": (
        "HOST:PORT,HOST:PORT/SERVICE/DB",
        ",*[^,/][^/]*/+(?P<name>[^/]+)(/(?P<db>[0-9]*))?/*",
    ),
    "redis+cluster": _NODES,
    "rediss+cluster": _NODES,
}
"""Scheme -> form of hosts and path, in words and as a pattern."""


class RedisURI(NamedTuple):
    """The parts of a URI, decoded."""

    scheme: str
    hosts: list[tuple[str, int | None]]
    name: str
    """Path of a socket, or the name of the sentinels' service."""
    parameters: dict[str, Any]
    """Database, user, password, and the parameters after the ``?``."""

    @classmethod
    def read(cls, uri: str) -> RedisURI:
        """Read a URI of one of the schemes in `PARAMETERS`, or raise `ConfigurationError`."""
        where = f"NEARDUP_STORE: {redact_store(uri)}"
        scheme, _, rest = uri.partition(":")
        if set(rest[2:].rpartition("@")[0]) & set("/?#"):
            raise ConfigurationError(
                f"{where} can't be read: a '/', '?' or '#' comes before an '@'. Write those in"
                " user and password as %2F, %3F and %23, and an '@' after the host as %40"
            )
        form, pattern = _FORMS[scheme.lower()]
        try:
            uri.encode()  # as it will be sent
            parts = urlsplit(uri)
            user, _, places = parts.netloc.rpartition("@")
            found = re.fullmatch(pattern, places + unquote(parts.path), re.DOTALL)
            if found is None or not rest.startswith("//"):
                raise ValueError  # noqa: TRY301
            hosts = [_place(place) for place in places.split(",") if place]
        except ValueError:
            raise ConfigurationError(
                f"{where} can't be read: it must look like {scheme}://USER:PASSWORD@{form}, "
                "with whatever isn't a letter or digit in user and password written as %XX"
            ) from None
        name, _, password = user.partition(":")
        written = {"username": unquote(name), "password": unquote(password)}
        parameters: dict[str, Any] = {key: value for key, value in written.items() if value}
        read = found.groupdict()
        if "db" in read:
            parameters["db"] = int(read["db"] or 0)
        parameters |= _parameters(parts.query, PARAMETERS[parts.scheme], where)
        return cls(parts.scheme, hosts, read.get("name", ""), parameters)


def _place(place: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{place}")
    if not parts.hostname:
        raise ValueError(place)
    return unquote(parts.hostname), parts.port


def _parameters(query: str, parsers: Mapping[str, Parser], where: str) -> dict[str, Any]:
    values = {}
    for place, (name, word) in enumerate(parse_qsl(query, keep_blank_values=True), 1):
        if name not in parsers:  # what looks like its name may be part of a password
            known = ", ".join(sorted(parsers))
            raise ConfigurationError(f"{where}: parameter number {place} is none of {known}")
        parse, wanted = parsers[name]
        try:
            values[name] = parse(word)
        except (ValueError, KeyError):
            raise ConfigurationError(f"{where}: its parameter {name} must be {wanted}") from None
    return values
