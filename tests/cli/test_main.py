from pathlib import Path

import click
import pytest
from audits import Audit
from click.testing import CliRunner
from datasets import write_lines
from forked import python

from scrapy_neardup import __version__
from scrapy_neardup.cli import VERBS, main
from scrapy_neardup.cli.common import failure
from scrapy_neardup.errors import (
    ConfigurationError,
    InputError,
    NeardupError,
    OutputError,
    StoreCorruptError,
    StoreLockedError,
    StoreMismatchError,
    StoreUnavailableError,
)
from scrapy_neardup.settings.catalogue import as_flags

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("charset", ["latin-1", "cp1252"])
def test_standard_output_in_any_encoding(call, charset):
    words = " ".join(f"w\u00f6rd\u65e5{number}" for number in range(50))
    pages = [{"url": f"http://a.test/\u65e5/{n}", "text": f"{words}\n{n}"} for n in range(6)]
    write_lines(Path("pages.jsonl"), pages)
    audit = Audit()
    audit.drop("http://a.test/\u65e5/2", audit.kept("http://a.test/\u65e5/1", title="\u65e5"))
    audit.write(Path("audit.jsonl"))
    runner = CliRunner(charset=charset)
    for arguments in ("tune pages.jsonl", "rules audit.jsonl", "scan pages.jsonl"):
        result = runner.invoke(main, arguments.split())
        assert result.exit_code == 0, result.exception
    assert "http://a.test/\\u65e5/0" in runner.invoke(main, ["tune", "pages.jsonl"]).stdout
    report = runner.invoke(main, ["report", "audit.jsonl", "--output", "-"])
    assert "/\u65e5/1" in report.stdout_bytes.decode()  # as the page says


def test_version_and_help(call):
    assert call("--version").stdout == f"scrapy-neardup {__version__}\n"
    for verb, summary in VERBS.items():
        assert f"  {verb}  " in call("--help").stdout
        assert summary in " ".join(call("--help").stdout.split())
        assert call(verb, "--help").stdout.startswith(f"Usage: scrapy-neardup {verb} ")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from scrapy_neardup.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([name for name in ('numpy', 'lxml', 'scrapy', 'asyncio') if name in sys.modules])"
    )
    assert python("-c", code, check=True).stdout.splitlines()[-1] == "[]"


def test_every_option_explains_itself():
    for verb in VERBS:
        command = main.get_command(None, verb)
        assert isinstance(command, click.Command)
        assert command.help
        assert "\\b" not in command.help, f"{verb}: click's mark must not stand in a raw string"
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.help, (verb, parameter.name)


@pytest.mark.parametrize(("error", "status"), [
    (ConfigurationError, 2), (InputError, 2), (OutputError, 2),
    (StoreMismatchError, 2), (StoreCorruptError, 2), (StoreLockedError, 2),
    (StoreUnavailableError, 1), (NeardupError, 1),
])  # fmt: skip
def test_exit_status(error, status):
    assert failure(error("x")).exit_code == status


def test_settings_are_called_as_the_options_are():
    message = "NEARDUP_MAX_DISTANCE must be 0 to 8, not 9 (see NEARDUP_STORE)"
    assert as_flags(message) == "--max-distance must be 0 to 8, not 9 (see --store)"
    assert as_flags("the setting NEARDUP_AUDIT") == "the setting NEARDUP_AUDIT"


def test_the_command_reference_is_up_to_date():
    made = python(ROOT / "docs" / "cli.py", check=True)
    assert (ROOT / "docs" / "cli.md").read_text() == made.stdout, (
        "run: python docs/cli.py > docs/cli.md"
    )


def test_an_error_never_drives_the_terminal(call):
    shown = call("scan", "\x1b[2J\x07\u009b31m.html", status=2).stderr
    assert "\\x1b[2J\\x07\\x9b31m.html" in shown
    assert shown.rstrip("\n").isprintable()


HOSTILE = "x\x1b[2J\x07\u009b31m\x7f\r\nERROR"


def test_names_never_drive_the_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{HOSTILE}.html").write_text("<p>one two three four five six")
    (tmp_path / "lines").write_text("{}")
    store = ("--store", f"sqlite:{HOSTILE}.db")
    place = (*store, "--namespace", HOSTILE)
    calls = [
        ("scan", f"{HOSTILE}.html", *place, "--progress"),
        ("scan", f"{HOSTILE}.html", "--output", "scanned.jsonl"),
        ("load", f"{HOSTILE}.html", *place),
        ("stats", *store),
        ("stats", *place),
        ("clear", *place, "--yes"),
        ("clear", *place),
        ("pairs", "scanned.jsonl"),
        ("pack", "scanned.jsonl", "--output", f"{HOSTILE}.pack"),
        ("unpack", f"{HOSTILE}.pack", "--format", "jsonl"),
        ("join", f"{HOSTILE}.html"),
        ("clusters", f"{HOSTILE}.html"),
        *(
            (verb, *words, HOSTILE)
            for verb in VERBS
            for words in ((), ("--store",), ("--output",))
        ),
        (HOSTILE,),
        (f"--{HOSTILE}",),
    ]
    for call in calls:
        result = CliRunner().invoke(main, call, color=True)  # as to a terminal
        lines = result.output.replace("\\n", "").split("\n")
        assert not isinstance(result.exception, UnicodeError), call
        assert all(line.isprintable() for line in lines), (call, lines)
        assert not any(line.startswith("ERROR") for line in lines), call
