"""Ctrl-C or SIGTERM ends a verb quietly, says what is written, and leaves no process behind."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest
from forked import python

SUPPORT = Path(__file__).parents[1] / "support"
WAITS = """
import asyncio
from scrapy_neardup.stores.embedded.memorystore import MemoryStore
async def waits(*_):
    print(flush=True)
    await asyncio.sleep(60)
"""


@contextmanager
def running(code, *arguments, folder):
    """Start Python in a session of its own, and wait for a line of it."""
    with subprocess.Popen(
        [sys.executable, "-W", "always", "-c", code, *arguments], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={"PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])},
    ) as process:  # fmt: skip
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def interrupt(process, number=signal.SIGINT):
    """Send a signal once it waits: CPython notices one just before that only with the next."""
    sleep(0.5)
    process.send_signal(number)


def main(code):
    return f"import sys\n{code}\nfrom scrapy_neardup.cli import main\nmain(sys.argv[1:])"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["open", "close"])
def test_it_ends_a_store_that_does_not_answer(place, number, tmp_path):
    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"text": "one two three four five six"}\n')
    code = main(f"{WAITS}\nMemoryStore.{place} = waits")
    with running(code, "scan", "pages.jsonl", "--output", "out", folder=tmp_path) as process:
        interrupt(process, number)
        _, error = process.communicate(timeout=60)
        assert (process.returncode, error.strip()) == (130, "Interrupted.")
    assert list(tmp_path.iterdir()) == [pages]


STUBBORN = """
async def stubborn(*_):
    print(flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print(flush=True)
        await asyncio.sleep(60)
MemoryStore.open = stubborn
"""


def test_a_second_one_ends_what_is_being_tidied_up(tmp_path):
    with running(main(WAITS + STUBBORN), "scan", "-", folder=tmp_path) as process:
        interrupt(process)
        process.stdout.readline()
        interrupt(process)
        assert process.wait(60) == 130


BUSY = """
from functools import partial
from scrapy_neardup.offline.execution import Processes
from pool_tasks import sleep
with Processes(2) as work:
    for pid in work(partial, [0, 60, 60, 60], sleep, 0):
        print(pid, flush=True)
"""


def test_a_second_one_ends_processes_that_are_busy(tmp_path):
    with running(BUSY, folder=tmp_path) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            pytest.skip("needs /proc")
        pids = children.read_text().split()
        assert len(pids) > 1
        commands = [Path(f"/proc/{pid}/cmdline") for pid in pids]
        interrupt(process)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)  # for tasks that have begun
        interrupt(process)
        _, error = process.communicate(timeout=60)
        assert "\nKeyboardInterrupt" in error  # helpers of multiprocessing may say more behind it
        left = [command.read_text() for command in commands if command.exists()]
        assert not [command for command in left if "spawn_main" in command]


STARTED = """
from functools import partial
from multiprocessing import util
from signal import SIG_BLOCK, SIGINT, pthread_sigmask
from scrapy_neardup.offline.execution import Processes
from pool_tasks import sleep
start = util.spawnv_passfds
def started(*how):
    print("deaf" if SIGINT in pthread_sigmask(SIG_BLOCK, ()) else "interrupted", flush=True)
    return start(*how)
util.spawnv_passfds = started
with Processes(2) as work:
    list(work(partial, [0, 0], sleep, 0))
"""


def test_processes_are_deaf_from_their_start(tmp_path):
    """A terminal sends Ctrl-C to all; one that is still importing would print a traceback."""
    with running(STARTED, folder=tmp_path) as process:
        said, error = process.communicate(timeout=60)
    # The first line is read already. On a busy machine one process does both tasks.
    assert ({*said.split()}, error) == ({"deaf"}, "")


TUNING = """
from scrapy_neardup.offline.jobs import tuning
told = tuning._Run.add
def add(self, *arguments):
    print(flush=True)
    told(self, *arguments)
tuning._Run.add = add
"""


def test_it_ends_tune_between_two_pages(tmp_path):
    lines = [f'{{"text": "{" ".join(map(str, range(n, n + 999)))}"}}\n' for n in range(9999)]
    (tmp_path / "pages.jsonl").write_text("".join(lines))
    with running(main(TUNING), "tune", "pages.jsonl", folder=tmp_path) as process:
        interrupt(process)
        _, error = process.communicate(timeout=10)
        assert (process.returncode, error.strip()) == (130, "Interrupted.")


PAGES_FIRST = """
from scrapy_neardup.cli.common import Progress
shown = Progress.update
def interrupted(self, count, *arguments):
    shown(self, count, *arguments)
    if count == 2:
        raise KeyboardInterrupt
Progress.update = interrupted
"""


@pytest.mark.parametrize(("options", "said"), [
    ([], "Interrupted after 2 pages: their lines are written."),
    (["--output", "out"], "Interrupted after 2 pages: nothing is written to out."),
    (["--store", "sqlite:pages.db"],
     "Interrupted after 2 pages: their lines are written, and the store has them."),
])  # fmt: skip
def test_a_scan_says_what_there_is_of_it(options, said, tmp_path):
    (tmp_path / "pages.jsonl").write_text('{"text": "one two three four five six"}\n' * 3)
    command = "-c", main(PAGES_FIRST), "scan", "pages.jsonl", *options
    result = python(*command, cwd=tmp_path, timeout=60)
    assert result.returncode == 130
    assert result.stderr.strip() == said
    assert len(result.stdout.splitlines()) == (0 if "--output" in options else 2)
    assert not (tmp_path / "out").exists()
