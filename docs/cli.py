"""Print the command reference from the commands' own help.

python docs/cli.py > docs/cli.md
"""
# ruff: noqa: INP001  (a script)

import click

from scrapy_neardup.cli import VERBS, main

WIDTH = 88


def reference() -> str:
    """Return the reference as Markdown."""
    context = _context(main, "scrapy-neardup", terminal_width=WIDTH)
    parts = [
        "# The scrapy-neardup command",
        "Made from the commands' own `--help` by `python docs/cli.py`.",
        _help(context),
    ]
    for verb in VERBS:
        command = main.get_command(context, verb)
        parts += [f"## {verb}", _help(_context(command, verb, parent=context))]
    return "\n\n".join(parts) + "\n"


def _context(command: click.Command, name: str, **settings: object) -> click.Context:
    return command.make_context(name, [], resilient_parsing=True, **settings)


def _help(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
