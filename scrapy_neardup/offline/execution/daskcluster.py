"""Tasks done on a Dask cluster, as `pool` does them.

A task may run twice, if its worker dies: it must only read, or write a file that appears when
it is complete.
"""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import ConfigurationError, NeardupError
from scrapy_neardup.offline.execution.pool import Processes
from scrapy_neardup.offline.readers.record import required

if TYPE_CHECKING:
    from distributed import Client

LONGEST_ALONE = 60.0
"""Seconds that a cluster may be without workers before its tasks are given up."""

_LOOK = 1.0
"""Seconds between two checks for workers while a result is awaited."""
_AHEAD = 4
"""Number of tasks in flight per worker process: enough to keep it busy, few enough to hold few
results here."""
_HELD_STATES = 2
"""Number of states that a worker process keeps: that of the current block, and of the one before
it."""


def _connected(address: str) -> Client:
    """Return a client of the scheduler at `address` (``tcp://HOST:8786``)."""
    what = "NEARDUP_SCHEDULER needs the package distributed"
    distributed = required(what, "distributed", "dask", ConfigurationError)
    if not re.search(r"[:/]\d+$", address):  # a Client would be closed for a minute
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: no address as tcp://HOST:8786")
    try:
        client: Client = distributed.Client(address, set_as_default=False)
    except ValueError as error:
        raise ConfigurationError(f"NEARDUP_SCHEDULER {address}: {error}") from error
    except OSError as error:
        raise NeardupError(
            f"NEARDUP_SCHEDULER {address}: no Dask scheduler answers there; start one with"
            " `dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from error
    return client


class Cluster:
    """The worker processes of a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def size(self) -> int:
        """Number of workers, at least one."""
        return max(1, len(self._client.nthreads()))  # type: ignore[no-untyped-call]

    def __call__(
        self, start: Callable[..., Any], tasks: Iterable[Any], *arguments: Any
    ) -> Generator[Any]:
        """Yield the result for each task, in order, of ``start(*arguments)``; see `Processes`."""
        from distributed import KilledWorker  # noqa: PLC0415  (an extra)

        client = self._client
        pickled = pickle.dumps((start, arguments))
        key = blake2b(pickled, digest_size=16).hexdigest()
        # Submitted and not scattered: scattered data are lost with the workers that hold them.
        made = client.submit(bytes, pickled, key=f"neardup-state-{key}")
        waiting: deque[Any] = deque()
        try:
            for task in tasks:
                waiting.append(client.submit(_run, key, made, task, pure=False))
                if len(waiting) >= _AHEAD * self.size:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        except KilledWorker as error:
            raise NeardupError(
                f"a task took several workers with it, perhaps for want of memory: {error}"
            ) from error
        except (OSError, TimeoutError) as error:
            raise NeardupError(f"the connection with the scheduler broke: {error}") from error
        finally:
            client.cancel([*waiting, made])  # type: ignore[no-untyped-call]

    def _result(self, future: Any) -> Any:
        """Wait for a result; without workers Dask itself would wait for ever."""
        attended = monotonic()
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.done():
                    return future.result()
            if self._client.nthreads():  # type: ignore[no-untyped-call]
                attended = monotonic()
            elif monotonic() - attended > LONGEST_ALONE:
                raise NeardupError(
                    f"the Dask cluster has had no workers for {LONGEST_ALONE:g} s; start some "
                    "with `dask worker ADDRESS`"
                )


Workers = Processes | Cluster
"""What does tasks."""


@contextmanager
def workers(address: str | None, jobs: int = 1) -> Iterator[Workers]:
    """Yield the cluster of this address, or without one as many processes of this machine."""
    if address is None:
        with Processes(jobs) as work:
            yield work
    else:
        with _connected(address) as client:
            yield Cluster(client)


_states: OrderedDict[str, Any] = OrderedDict()
"""States made last in this worker process."""
_lock = Lock()


def _run(key: str, made: bytes, task: Any) -> Any:
    """Do one task; one at a time in a process, as threads can't share open files."""
    with _lock:
        return _state(key, made)(task)


def _state(key: str, made: bytes) -> Any:
    if key not in _states:
        while len(_states) >= _HELD_STATES:
            _states.popitem(last=False)
        start, arguments = pickle.loads(made)  # noqa: S301  (what Dask itself does)
        _states[key] = start(*arguments)
    _states.move_to_end(key)
    return _states[key]
