import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from scrapy_neardup import __version__
from scrapy_neardup.cli import VERBS
from scrapy_neardup.cli.common import failure, for_options
from scrapy_neardup.errors import (
    ConfigurationError,
    InputError,
    NeardupError,
    StoreCorruptError,
    StoreLockedError,
    StoreMismatchError,
    StoreUnavailableError,
)

ROOT = Path(__file__).parents[2]


def test_version_and_help(call):
    assert call("--version").stdout == f"scrapy-neardup {__version__}\n"
    for verb, summary in VERBS.items():
        assert f"  {verb}  " in call("--help").stdout
        assert summary in " ".join(call("--help").stdout.split())
        assert call(verb, "--help").stdout.startswith(f"Usage: scrapy-neardup {verb} ")


def test_an_unknown_verb_is_bad_usage(call):
    assert "No such command 'scna'" in call("scna", status=2).stderr


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from scrapy_neardup.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([name for name in ('numpy', 'lxml', 'scrapy', 'asyncio') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_every_option_explains_itself():
    for verb in VERBS:
        command = getattr(import_module(f"scrapy_neardup.cli.{verb}"), verb)
        assert isinstance(command, click.Command)
        assert command.help
        assert "\\b" not in command.help, f"{verb}: click's mark must not stand in a raw string"
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.help, (verb, parameter.name)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigurationError, 2), (InputError, 2), (StoreMismatchError, 2), (StoreCorruptError, 2),
        (StoreLockedError, 2), (StoreUnavailableError, 1), (NeardupError, 1),
    ],
)  # fmt: skip
def test_exit_status(error, status):
    assert failure(error("x")).exit_code == status


def test_settings_are_called_as_the_options_are():
    message = "NEARDUP_MAX_DISTANCE must be 0 to 8, not 9 (see NEARDUP_STORE)"
    assert for_options(message) == "--max-distance must be 0 to 8, not 9 (see --store)"


def test_the_command_reference_is_up_to_date():
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / "cli.py"], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs" / "cli.md").read_text() == made.stdout, (
        "run: python docs/cli.py > docs/cli.md"
    )


def test_an_error_never_drives_the_terminal(call):
    shown = call("scan", "\x1b[2J\x07\u009b31m.html", status=2).stderr
    assert "\\x1b[2J\\x07\\x9b31m.html" in shown
    assert shown.rstrip("\n").isprintable()
