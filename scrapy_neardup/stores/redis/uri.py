"""How the URI of a Redis is read, before it is used.

An error names the parameter, or the character in the wrong place, and quotes
nothing of the URI but what `scrapy_neardup.urls.redact_store` shows: what looks like a host, a
port or a parameter may be part of a password.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.urls import redact_store

Parsers = Mapping[str, Callable[[str], Any]]


def _flag(word: str) -> bool:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
        word.lower()
    ]


def _tls_version(word: str) -> ssl.TLSVersion:
    return ssl.TLSVersion(int(word))


_WANTED: Final[Mapping[Callable[[str], Any], str]] = {
    int: "a whole number",
    float: "a number",
    _flag: "yes or no",
    _tls_version: "the number of a member of ssl.TLSVersion",
}
_ANY: Final[Parsers] = {
    **dict.fromkeys(("username", "password", "client_name"), str),
    **dict.fromkeys(("socket_timeout", "socket_connect_timeout", "health_check_interval"), float),
    "socket_keepalive": _flag,
    **dict.fromkeys(("max_connections", "protocol"), int),
}
_TLS: Final[Parsers] = {
    **dict.fromkeys(("ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_ca_data"), str),
    **dict.fromkeys(("ssl_cert_reqs", "ssl_ciphers"), str),
    "ssl_check_hostname": _flag,
    "ssl_min_version": _tls_version,
}
_SERVER: Final[Parsers] = {**_ANY, "db": int}
_CLUSTER: Final[Parsers] = {**_ANY, "require_full_coverage": _flag}

PARAMETERS: Final[Mapping[str, Parsers]] = {
    "redis": _SERVER,
    "unix": _SERVER,
    "rediss": {**_SERVER, **_TLS, "ssl_ca_path": str, "ssl_password": str},
    "redis+sentinel": {**_ANY, **{f"sentinel_{name}": read for name, read in _ANY.items()}},
    "redis+cluster": _CLUSTER,
    "rediss+cluster": {**_CLUSTER, **_TLS},
}
"""Scheme -> parameters that may follow the ``?``, by redis-py's names, and their parsers."""


class RedisURI(NamedTuple):
    """The parts of a URI, decoded."""

    scheme: str
    hosts: list[tuple[str, int | None]]
    path: str
    """Path without surrounding slashes; for ``unix://``, the path of the socket."""
    parameters: dict[str, Any]
    """Parameters behind the ``?``, user and password."""

    @classmethod
    def read(cls, uri: str) -> RedisURI:
        """Read a URI of one of the schemes in `PARAMETERS`, or raise `ConfigurationError`."""
        where = f"NEARDUP_STORE: {redact_store(uri)}"
        scheme, _, rest = uri.partition(":")
        if set(rest[2:].rpartition("@")[0]) & set("/?#"):
            raise ConfigurationError(
                f"{where} can't be read: a '/', '?' or '#' stands in front of an '@'. Write "
                "those of user and password as %2F, %3F and %23, and an '@' behind the host "
                "as %40"
            )
        try:
            if not rest.startswith("//"):
                raise ValueError  # noqa: TRY301
            uri.encode()  # as it will be sent
            parts = urlsplit(uri)
            user, _, places = parts.netloc.rpartition("@")
            hosts = [_place(place) for place in places.split(",") if place]
        except ValueError:
            raise ConfigurationError(
                f"{where} can't be read: it must look like {scheme}://USER:PASSWORD@HOST:PORT, "
                "with whatever isn't a letter or digit in user and password written as %XX"
            ) from None
        name, _, password = user.partition(":")
        written = {"username": unquote(name), "password": unquote(password)}
        parameters = {key: value for key, value in written.items() if value}
        parameters |= _parameters(parts.query, PARAMETERS[parts.scheme], where)
        path = unquote(parts.path)
        return cls(
            parts.scheme, hosts, path if parts.scheme == "unix" else path.strip("/"), parameters
        )


def _place(place: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{place}")
    if not parts.hostname:
        raise ValueError(place)
    return unquote(parts.hostname), parts.port


def _parameters(query: str, parsers: Parsers, where: str) -> dict[str, Any]:
    values = {}
    for place, (name, word) in enumerate(parse_qsl(query, keep_blank_values=True), 1):
        if name not in parsers:  # its name may be what follows an '&' in a password
            known = ", ".join(sorted(parsers))
            raise ConfigurationError(f"{where}: parameter number {place} is none of {known}")
        try:
            values[name] = parsers[name](word)
        except (ValueError, KeyError):
            wanted = _WANTED[parsers[name]]
            raise ConfigurationError(f"{where}: its parameter {name} must be {wanted}") from None
    return values
