"""What holds for all tests."""

import asyncio
import gc
import inspect
import os
import signal

from hypothesis import HealthCheck, settings
from jumping import JumpingLoop
from tried import pytest_terminal_summary  # noqa: F401  (here processes that run no test find it)

# Several processes run tests, and start others: numpy needs no threads in any of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Where a shell ignores interrupts (nohup, many runners of CI), all that it starts would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test depends on how fast a machine is, or on what else it does at the time.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A test that is dear says fewer itself; `make stress` takes the profile "many". CI tries the same
# examples each time, so that a failure there is that of a change; other runs look for new ones.
settings.register_profile("some", untimed, max_examples=20, derandomize="CI" in os.environ)
settings.register_profile("many", untimed, max_examples=500)
settings.load_profile("some")


def pytest_configure(config):
    config.addinivalue_line("markers", "jumping: a test in a `JumpingLoop`, where nothing waits")


def pytest_collection_finish():
    """Let the collector of garbage pass over thousands of tests, which are none."""
    gc.freeze()


def pytest_pyfunc_call(pyfuncitem):
    """Run tests that are coroutines, each in an event loop of its own."""
    if not inspect.iscoroutinefunction(test := pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    factory = JumpingLoop if pyfuncitem.get_closest_marker("jumping") else None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(test(**arguments))
    return True
