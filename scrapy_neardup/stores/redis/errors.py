"""What went wrong between us and Redis, said in the errors of `scrapy_neardup.errors`.

Rule of this room: each message names the server and the way out, and none shows a password.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from scrapy_neardup.errors import StoreError, StoreUnavailableError
from scrapy_neardup.urls import redact_store

FAILURES = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""What redis-py raises; not all of it has one base."""

RECORD_LOST = "NEARDUPLOST"
"""What a script's error reply begins with where the namespace's record is another or none."""


class RecordLostError(StoreUnavailableError):
    """The record of the namespace's parameters is not what was agreed on."""


def explained(error: BaseException, uri: str) -> StoreError:
    """Return the error to raise for one of redis-py's."""
    where = f"NEARDUP_STORE: {redact_store(uri)}"
    match error:
        case exceptions.AuthenticationError() | exceptions.NoPermissionError():
            return StoreError(f"{where} refused user or password: {error}")
        case exceptions.ResponseError() if refused(error, exceptions.ReadOnlyError, "READONLY"):
            return StoreUnavailableError(f"{where} is a read-only replica: name the master")
        case exceptions.ResponseError() if refused(error, exceptions.OutOfMemoryError, "OOM"):
            return StoreUnavailableError(f"{where} is full (maxmemory) and takes no more pages")
        case exceptions.ResponseError() if str(error).startswith(RECORD_LOST):
            return RecordLostError(f"{where} has lost what it held")
        case _:
            text = str(error) or type(error).__name__
            return StoreUnavailableError(f"{where} doesn't answer as it should: {text}")


@contextmanager
def explaining(uri: str) -> Iterator[None]:
    """Let errors of redis-py leave a ``with`` block as `explained`."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise explained(error, uri) from error


def refused(error: object, kind: type[Exception], code: str) -> bool:
    """Whether the server refused a write so, in a script too: Redis 6.2 words that by itself."""
    script = isinstance(error, exceptions.ResponseError) and f": -{code} " in str(error)
    return script or isinstance(error, kind)
