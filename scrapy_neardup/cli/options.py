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


def refuse_given(what: str, unused: Collection[str]) -> None:
    """Fail if an option was given that has no use together with `what`.

    Parameters
    ----------
    unused
        Names of parameters of the verb that is running.

    Raises
    ------
    click.UsageError
        Naming the option.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        if parameter.name in unused and given is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} has no use with {what}: leave it out")
