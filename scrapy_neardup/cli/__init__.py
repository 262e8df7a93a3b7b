"""The ``scrapy-neardup`` command: one module for a verb or a few, loaded when the verb is called.

This module and `common` import no numpy, lxml or Scrapy, so that ``--help`` answers at once. To
add a verb, write a module with a click command of its name (``query`` in ``query.py``), and add
its line to `VERBS`.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from signal import SIGTERM, default_int_handler, signal

import click

from scrapy_neardup import __version__
from scrapy_neardup.cli.common import Interrupted, escaped, failure
from scrapy_neardup.errors import NeardupError

VERBS = {
    "try": "Show on a site what the filter would drop, without dropping it.",
    "doctor": "Check what is installed, and how a project is set up.",
    "report": "Make a web page of what crawls dropped, and why.",
    "rules": "Show a crawl's claims about addresses, and what they save.",
    "changes": "Show what is new, gone or changed between two crawls.",
    "tune": "Show how good the filter is on your pages, and choose settings.",
    "scan": "Judge the pages of folders, WARC files or JSON lines.",
    "dedupe": "Write a data set without its duplicates.",
    "query": "Find the pages of a collection that are like a page or a text.",
    "load": "Put the pages of a collection into a store, before a crawl.",
    "stats": "Show the content of a store.",
    "clear": "Remove one namespace of a store.",
    "pack": "Compress fingerprints into a file that can be searched.",
    "unpack": "Write the content of a packed file.",
    "pairs": "Find all near-duplicate pairs of collections of fingerprints.",
    "join": "Find all pairs of similar pages, exactly.",
    "clusters": "Cluster pages that resemble each other, or that pairs connect.",
}
"""Verb -> its line in ``scrapy-neardup --help``."""
_MODULES = {"try": "try_", "load": "scan", "clear": "stats", "unpack": "pack"}
"""Verb -> its module, if that has another name."""


class Verbs(click.Group):
    """The group of `VERBS`, which turns this package's errors into exit statuses."""

    # ruff: noqa: ARG002  (click passes a context to each)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"scrapy_neardup.cli.{_MODULES.get(cmd_name, cmd_name)}")
        commands = (each for each in vars(module).values() if isinstance(each, click.Command))
        return next(command for command in commands if command.name == cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the table, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; suggest another one if there is none."""
        if args and args[0] not in VERBS and (meant := get_close_matches(args[0], VERBS, n=1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {meant[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb; turn an expected error into one line and an exit status.

        A character that standard output can't encode is escaped, as on standard error.
        """
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        before = signal(SIGTERM, default_int_handler)  # then temporary files are removed
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted.") from None
        except BrokenPipeError:
            raise  # click ends quietly: the reader of our output has closed the pipe
        except (NeardupError, OSError) as error:
            raise failure(error) from error
        except click.UsageError as error:
            raise _escaped(error) from error
        finally:
            signal(SIGTERM, before)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the verb."""
        try:
            return super().parse_args(ctx, args)
        except BrokenPipeError:
            raise
        except OSError as error:  # --help can't be written
            raise failure(error) from error
        except click.UsageError as error:
            raise _escaped(error) from error


def _escaped(error: click.UsageError) -> click.UsageError:
    """Return an error with its control characters escaped: it may quote an argument."""
    return click.UsageError(escaped(error.format_message()), error.ctx)


@click.group(
    "scrapy-neardup",
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Find near-duplicate pages with the fingerprints of the Scrapy plugin.

    Results go to standard output, progress and summaries to standard error.

    Exit status: 0, it worked; 1, something failed at run time (a store went away, the reader of a
    pipe left); 2, an option or an input can't be used, and the message names it; 130, it was
    interrupted (Ctrl-C or SIGTERM; a second one ends it at once).
    """
