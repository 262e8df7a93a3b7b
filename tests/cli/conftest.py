import json
import random
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from click.testing import CliRunner

from scrapy_neardup.cli import main

COMMAND = Path(sys.executable).with_name("scrapy-neardup")


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call the command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*args, stdin=None, status=0):
        result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
        assert result.exit_code == status, (result.output, result.exception)
        return result

    return call


@pytest.fixture
def start(tmp_path):
    """Start the installed command as a process of its own."""
    with ExitStack() as stack:

        def start(*args, **options):
            options = {"cwd": tmp_path, "stdout": PIPE, "stderr": PIPE, "text": True, **options}
            process = stack.enter_context(Popen([COMMAND, *map(str, args)], **options))
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def site(tmp_path):
    """A folder with three articles, three times each, with a note before or behind."""
    words = random.Random(1)
    folder = tmp_path / "site"
    folder.mkdir()
    for number in range(3):
        article = [f"word{words.randrange(5000)}" for _ in range(300)]
        for copy in "abc":
            text = " ".join(article + article[:100])
            rows = [f"<p>{text}</p>", f"<p>Note {number}: read it twice</p>"]
            body = "".join(reversed(rows) if copy == "c" else rows)
            (folder / f"{number}{copy}.html").write_text(
                f"<!doctype html><html><head><title>{number}</title></head>"
                f"<body><nav>menu {copy}</nav>{body}</body></html>"
            )
    return folder


@pytest.fixture
def rows():
    return lambda output: [json.loads(line) for line in output.splitlines()]
