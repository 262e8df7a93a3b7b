"""Interrupts at the moments that a real signal hits once in a thousand times."""

import subprocess
import sys

import pytest

LOOP = """
import asyncio, socket
made = socket.socketpair
def interrupted(*arguments):
    interrupt_main()
    return made(*arguments)
socket.socketpair = interrupted
"""

TASK = """
import asyncio
made = asyncio.BaseEventLoop.create_task
def interrupted(*arguments, **names):
    asyncio.BaseEventLoop.create_task = made
    interrupt_main()
    return made(*arguments, **names)
asyncio.BaseEventLoop.create_task = interrupted
"""

PROCESS = """
from multiprocessing.context import SpawnProcess
started = SpawnProcess.start
def interrupted(self):
    started(self)
    interrupt_main()
SpawnProcess.start = interrupted
"""

DROPPED = """
import time, weakref
from scrapy_neardup.offline.readers.corpus import Corpus
def interrupted(self):
    called = weakref.ref(self.__class__(["pages.jsonl"]), lambda _: interrupt_main())
    time.sleep(60)
    yield
Corpus.__iter__ = interrupted
"""


@pytest.mark.parametrize(
    ("moment", "call"),
    [
        (LOOP, ["scan", "pages.jsonl"]),
        (LOOP, ["stats", "--store", "sqlite:pages.db"]),
        (TASK, ["scan", "pages.jsonl"]),
        (TASK, ["stats", "--store", "sqlite:pages.db"]),
        (PROCESS, ["scan", "pages.jsonl", "--jobs", "2"]),
        (DROPPED, ["scan", "pages.jsonl"]),
    ],
    ids=["a loop is made", "a loop is made (stats)", "a task is made", "a task is made (stats)",
         "a process has started", "Python drops it"],
)  # fmt: skip
def test_it_ends_a_verb_quietly(moment, call, tmp_path):
    (tmp_path / "pages.jsonl").write_text('{"text": "one two three four five six"}\n')
    code = (
        "import sys\n"
        "from _thread import interrupt_main  # as a signal that another thread takes\n"
        "from scrapy_neardup.cli import main\n"
        f"{moment}\n"
        "main(sys.argv[1:])"
    )
    result = subprocess.run(
        [sys.executable, "-W", "always", "-c", code, *call],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr.split()) == (1, "", ["Aborted!"])


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
    code = f"import sys\nfrom scrapy_neardup.cli import main\n{PAGES_FIRST}\nmain(sys.argv[1:])"
    result = subprocess.run(
        [sys.executable, "-c", code, "scan", "pages.jsonl", *options],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert result.returncode == 1
    assert [line for line in result.stderr.splitlines() if line] == [said, "Aborted!"]
    assert len(result.stdout.splitlines()) == (0 if "--output" in options else 2)
    assert not (tmp_path / "out").exists()
