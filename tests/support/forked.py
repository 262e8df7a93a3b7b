"""Commands in processes that are forked from one that has imported what they need.

Starting Python, Scrapy and the package takes longer than most of what tests ask of a command. Each
still has a process, a reactor and an environment of its own; what only a start from nothing shows
(the entry point, imports, signals that early) is for tests that start the installed command.
"""

import multiprocessing
import os
import subprocess
import sys
from importlib import import_module
from multiprocessing.context import BaseContext
from pathlib import Path
from tempfile import TemporaryDirectory

NEEDED = [
    "forked", "aiohttp.web",
    "scrapy.cmdline", "scrapy.commands.runspider", "scrapy.commands.shell",
    "scrapy.downloadermiddlewares.cookies", "scrapy.extensions.telnet", "scrapy.pqueues",
    "scrapy_neardup.cli.try_", "scrapy_neardup.crawl.middlewares",
    "scrapy_neardup.crawl.verbs.trial",
    "scrapy_neardup.stores.embedded", "scrapy_neardup.stores.redis.store",
    "scrapy_neardup.stores.sqlite",
]  # fmt: skip
"""Modules that are imported before processes are forked, if they are there; none installs a
reactor."""


def context() -> BaseContext:
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(NEEDED)
    return forking


def run(module, name, *arguments, cwd: Path, seconds=60) -> subprocess.CompletedProcess[str]:
    """Call the function `name` of a module without arguments, in a process, as a command is.

    It finds `arguments` in ``sys.argv``.
    """
    with TemporaryDirectory() as said:
        command = [module, name, *map(str, arguments)]
        called = (command, cwd, dict(os.environ), Path(said))
        process = context().Process(target=_called, args=called)
        process.start()
        process.join(seconds)
        process.kill()  # where it hasn't ended
        process.join()
        out, err = ((Path(said) / stream).read_text() for stream in ("stdout", "stderr"))
        return subprocess.CompletedProcess(command, process.exitcode, out, err)


def python(*arguments, **options) -> subprocess.CompletedProcess[str]:
    """Run ``python`` with these arguments, in a process that starts from nothing."""
    options = {"capture_output": True, "text": True, "check": False, **options}
    return subprocess.run([sys.executable, *map(str, arguments)], **options)  # noqa: PLW1510


def _called(command: list[str], cwd: Path, environ: dict[str, str], said: Path) -> None:
    for number, stream in enumerate(("stdout", "stderr"), 1):
        file = os.open(said / stream, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    module, name, *_ = command
    sys.argv = command[1:]
    sys.path.insert(0, str(cwd))
    getattr(import_module(module), name)()
