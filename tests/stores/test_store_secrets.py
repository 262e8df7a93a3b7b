"""A password in a store's URI, of whatever characters, is shown nowhere."""

import asyncio
import socket
import string
import traceback
from functools import partial
from inspect import signature
from itertools import product
from unittest.mock import AsyncMock, Mock

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from scrapy_neardup.cli import main
from scrapy_neardup.crawl.guard import GuardedStore
from scrapy_neardup.errors import ConfigurationError, NeardupError, StoreError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.admin import store_admin
from scrapy_neardup.stores.redis.uri import PARAMETERS
from scrapy_neardup.urls import redact_store

SECRET = "S3CRET"
AROUND = st.text(
    st.sampled_from(string.ascii_lowercase + string.digits + string.punctuation + " \t\n")
    | st.characters(codec="utf-8")
    | st.just("\udcff"),  # as the environment may bring it
    max_size=4,
)
PASSWORDS = st.builds(f"{{}}{SECRET}{{}}".format, AROUND, AROUND)
PLACES = {
    "redis": "127.0.0.1:1/0",
    "rediss": "127.0.0.1:1/0",
    "unix": "/nowhere/redis.sock",
    "redis+sentinel": "127.0.0.1:1/service",
    "redis+cluster": "127.0.0.1:1",
    "rediss+cluster": "127.0.0.1:1",
    "postgres": "127.0.0.1/db",
}
UNESCAPED = ["/", "?", "#", "@", ":", "[", "]", "%", "\n", "\u2100", "1?", "1/", "1#", "&a="]


def written(scheme: str, password: str) -> list[str]:
    """All ways to write a password into a URI."""
    place = PLACES[scheme]
    return [
        f"{scheme}://:{password}@{place}",
        f"{scheme}://{password}@{place}",
        f"{scheme}://user:{password}@{place}?socket_timeout=1",
        f"{scheme}://{place}?password={password}",
        f"{scheme}://{place}?ssl_password={password}",
        f"{scheme}://{place}?socket_timeout={password}",
        f"{scheme}://{place}#{password}",
        f"{scheme}://user:{password}@",
        f"{scheme}:user:{password}@{place}",
        f"{scheme}:{place}?password={password}",
    ]


@given(st.sampled_from(sorted(PLACES)), PASSWORDS)
@example("redis", f"{SECRET}/x")
@example("redis", f"x?{SECRET}")
@example("redis", f"1?{SECRET}@x")
def test_it_is_redacted(scheme, password):
    for uri in written(scheme, password):
        assert SECRET not in redact_store(uri), uri
        # A crawl shows its store at the start; one of others quotes its URI where it is broken.
        fails = AsyncMock(side_effect=ConnectionError(f"can't reach {uri}", uri))
        broken = Mock(open=fails, is_private=False)
        with pytest.raises(StoreError) as raised:
            asyncio.run(GuardedStore(broken, uri, timeout=1, on_failure=print).open())
        assert SECRET not in str(raised.value)


def all_said(act) -> str:
    """Return all that a failure would print, those behind it included."""
    try:
        asyncio.run(act())
    except (NeardupError, ConfigurationError) as error:
        return "".join(traceback.format_exception(error))
    raise AssertionError("there is nobody there")


@settings(max_examples=15)
@given(st.sampled_from(sorted(PLACES)), PASSWORDS)
def test_no_error_says_it(scheme, password):
    async def opened(uri: str) -> None:
        await open_store(uri).open()

    async def looked_at(uri: str) -> None:
        async with store_admin(uri) as admin:
            await admin.namespaces()

    for uri, act in product(written(scheme, password), (opened, looked_at)):
        assert SECRET not in all_said(partial(act, uri)), uri


@pytest.mark.parametrize("character", UNESCAPED)
def test_the_command_does_not_print_it(character):
    for uri in written("redis", f"x{character}{SECRET}{character}y"):
        result = CliRunner().invoke(main, ["stats", "--store", uri])
        assert result.exit_code != 0
        assert result.output.strip()
        assert SECRET not in result.output


@pytest.mark.parametrize(("uri", "shown"), [
    ("redis://ann:S3CRET@host:6379/0?ssl_password=S3CRET", "redis://host:6379/0"),
    ("redis+cluster://ann:S3CRET@a.example:1,[::1]:2", "redis+cluster://a.example:1,[::1]:2"),
    ("unix://:S3CRET@/run/redis.sock?db=1", "unix:///run/redis.sock"),
    ("redis://u:S3CRET/x@host", "redis:…"),
    ("toy://host/,fail=open", "toy://host/,fail=open"),
    ("list:whatever", "list:whatever"),
    ("sqlite:a@b/pages.db", "sqlite:a@b/pages.db"),
    ("memory:", "memory:"),
    ("", ""),
])  # fmt: skip
def test_what_is_no_secret_is_shown(uri, shown):
    assert redact_store(uri) == shown


@pytest.mark.parametrize("character", UNESCAPED)
async def test_a_password_of_any_characters_is_sent_where_it_is_escaped(character):
    """The other end sees it as it is meant."""
    password = f"{character}{SECRET}"
    escaped = "".join(f"%{byte:02X}" for byte in password.encode())

    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result(await reader.readuntil(SECRET.encode()))
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0, family=socket.AF_INET) as s:
        port = s.sockets[0].getsockname()[1]
        with pytest.raises(StoreError):
            await open_store(f"redis://:{escaped}@127.0.0.1:{port}/0").open()
        assert password.encode() in await heard


@pytest.mark.parametrize("scheme", sorted(PARAMETERS))
@pytest.mark.parametrize(("parameter", "said"), [
    ("socket_timeuot=1", "parameter number 1 is none of .*socket_timeout"),
    *((f"socket_timeout={word}", "socket_timeout must be a number of seconds above 0")
      for word in ("soon", "0", "nan", "inf")),
    ("max_connections=", "max_connections must be a whole number"),
    ("socket_keepalive=maybe", "socket_keepalive must be yes or no"),
])  # fmt: skip
def test_a_parameter_that_cannot_be_taken_is_named_at_once(scheme, parameter, said):
    with pytest.raises(ConfigurationError, match=said):
        open_store(f"{scheme}://{PLACES[scheme]}?{parameter}")


@pytest.mark.parametrize("scheme", sorted(PARAMETERS))
def test_every_parameter_that_is_offered_is_taken(scheme):
    for name in PARAMETERS[scheme]:
        uri = f"{scheme}://{PLACES[scheme]}?{name}={771 if name == 'ssl_min_version' else 1}"
        if name in {"ssl_ca_path", "ssl_password"} - signature(Redis.__init__).parameters.keys():
            with pytest.raises(ConfigurationError, match="installed redis-py doesn't accept"):
                open_store(uri)
        else:
            open_store(uri)


def test_parameters_arrive():
    uri = "redis+cluster://127.0.0.1:1?socket_timeout=0.5&max_connections=7"
    client = open_store(uri)._calls.client
    assert client.connection_kwargs["socket_timeout"] == 0.5
    # Any other number brings storms of connections (docs/cluster.md), and is refused.
    assert client.reinitialize_steps == 0
    with pytest.raises(ConfigurationError, match="parameter number 1 is none of"):
        open_store("redis+cluster://127.0.0.1:1?reinitialize_steps=5")
    pool = open_store("unix:///s?db=2&socket_keepalive=no")._calls.client.connection_pool
    assert pool.connection_kwargs.items() >= {"path": "/s", "db": 2}.items()


@pytest.mark.parametrize(("word", "is_set"), [
    ("true", True), ("Yes", True), ("1", True), ("false", False), ("no", False), ("0", False)
])  # fmt: skip
def test_flags_are_words(word, is_set):
    pool = open_store(f"redis://h?socket_keepalive={word}")._calls.client.connection_pool
    assert pool.connection_kwargs["socket_keepalive"] is is_set
