"""The options that several verbs have in the same words.

Rule of this room: decorators, and what goes for the options of any verb; an option of one
verb stands at that verb.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Verb = TypeVar("Verb", bound=Callable[..., Any])

existing_option = click.option(
    "--existing",
    metavar="INPUT",
    multiple=True,
    help="Compare the INPUTs with this collection, not with each other; may be repeated.",
)

ignore_option = click.option(
    "--ignore",
    metavar="CSS",
    multiple=True,
    help="Leave out the parts of a page that this selector finds; may be repeated.",
)

jobs_option = click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    help="Processes that read pages and compute fingerprints.",
)

output_option = click.option(
    "--output",
    "path",
    metavar="FILE",
    default="-",
    help="Write here, all or nothing.  [default: standard output]",
    show_default=False,
)

column_option = click.option(
    "--column",
    metavar="NAME",
    default="fingerprint",
    help="The column of Parquet files that holds the fingerprints.",
)

progress_option = click.option(
    "--progress/--no-progress",
    default=None,
    help="Show how far it is, on standard error.  [default: on a terminal]",
)


def together(*options: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Return what adds these options to a verb, in this order."""

    def decorate(verb: Verb) -> Verb:
        for option in reversed(options):
            verb = option(verb)
        return verb

    return decorate


def given(names: Collection[str]) -> list[str]:
    """Return which of these options of the verb that is running are on its command line.

    Parameters
    ----------
    names
        Those of their parameters.

    Returns
    -------
    list of str
        As they are written: ``--max-distance``.
    """
    context = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def refuse_given(what: str, unused: Collection[str]) -> None:
    """Fail if one of these options is given, which has no use together with `what`.

    Raises
    ------
    click.UsageError
        Naming the option.
    """
    for option in given(unused):
        raise click.UsageError(f"{option} has no use with {what}: leave it out")
