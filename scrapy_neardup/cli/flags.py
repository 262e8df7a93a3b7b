"""Options that several verbs share, settings among them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from functools import reduce, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.readers.namedcolumns import USUAL, Columns
from scrapy_neardup.settings import catalogue
from scrapy_neardup.settings.catalogue import OPTIONS, Judging, Option, options_of

Verb = TypeVar("Verb", bound=Callable[..., Any])
Given = SimpleNamespace
"""The values of a verb's flags, by the names of their parameters."""


def together(*options: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Return a decorator that adds these options to a verb, in this order."""
    return lambda verb: reduce(lambda made, option: option(made), reversed(options), verb)


def pass_given(function: Callable[[Given], None]) -> Callable[..., None]:
    """Make a verb from a function that takes the given values of its options as one object."""

    @wraps(function)
    def verb(**values: Any) -> None:
        _check_files(values)
        function(Given(**values))

    return verb


_READ = (
    "inputs", "existing", "collection", "pair_files", "audits", "sources", "old", "new", "packed",
)  # fmt: skip
"""Parameters that name files to read."""


def _check_files(values: Mapping[str, Any]) -> None:
    """Raise a `ConfigurationError` if a named file can't be read or written."""
    given = [values[name] for name in _READ if name in values]
    paths = [path for each in given for path in ((each,) if isinstance(each, str) else each)]
    if paths.count("-") > 1:
        raise ConfigurationError("-: standard input can be read only once")
    target = values.get("path") or ""
    if target != "-" and Path(target).is_file():
        for path in paths:
            if Path(path).exists() and Path(target).samefile(path):
                raise ConfigurationError(f"--output: {target} is an input, too")


inputs = click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)


def number_option(
    *names: str, least: int = 1, most: int | None = None, metavar: str = "N", **how: Any
) -> Callable[[Verb], Verb]:
    """Return an option that takes a whole number; `how` are arguments of `click.option`."""
    return click.option(*names, metavar=metavar, type=click.IntRange(least, most), **how)


def size_in_bytes(_: click.Context, __: click.Parameter, value: str) -> int:
    """Parse 500MB or 4GB (powers of 1,000) or 1GiB (of 1,024) into bytes (a callback of click)."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([kMGT]?)(i?)B?", value, re.IGNORECASE)
    if not found:
        raise click.BadParameter(f"{value!r} isn't a size such as 500MB or 4GB")
    number, unit, binary = found.groups()
    power = " kmgt".index(unit.lower() or " ")
    return int(float(number) * float(1024 if binary else 1000) ** power)


def memory_option(more: str = ".") -> Callable[[Verb], Verb]:
    """Return the option of the memory in bytes; `more` ends its help."""
    return click.option(
        "--memory",
        metavar="SIZE",
        default="1GB",
        callback=size_in_bytes,
        help=f"Memory to work in, such as 500MB or 4GB{more}",
    )


existing_option = click.option(
    "--existing",
    metavar="INPUT",
    multiple=True,
    help="Compare the INPUTs with this collection, not with each other; may be repeated.",
)


def threshold_option(help: str) -> Callable[[Verb], Verb]:  # noqa: A002  (click's name)
    """Return the option of a minimum resemblance."""
    default = OPTIONS["min_resemblance"].default
    return click.option("--threshold", metavar="T", type=float, default=default, help=help)


def file_option(help: str, **how: Any) -> Callable[[Verb], Verb]:  # noqa: A002  (click's name)
    """Return the option of an output file; `how` are arguments of `click.option`."""
    return click.option("--output", "path", metavar="FILE", help=help, **how)


_COMPLETE = "Output file, which appears when it is complete"
_STANDARD = "  [default: standard output]"
output_option = file_option(f"{_COMPLETE}.{_STANDARD}", default="-", show_default=False)
rows_option = file_option(
    f'{_COMPLETE}: Parquet if it is named .parquet (extra "parquet"), else JSON lines.{_STANDARD}',
    default="-",
    show_default=False,
)
column_option = click.option(
    "--column",
    metavar="NAME",
    default="fingerprint",
    help="The column of Parquet files that holds the fingerprints.",
)

column_options = together(
    click.option("--text-column", metavar="NAME", help="Column of the text.  [default: text]"),
    click.option("--html-column", metavar="NAME", help="Column of the HTML.  [default: html]"),
    click.option("--url-column", metavar="NAME", default=USUAL.url, help="Column of the URL."),
    click.option(
        "--id-column",
        metavar="NAME",
        help="Column of a document's name.  [default: its URL, else FILE:ROW]",
    ),
)
"""Names of columns of JSON, CSV, Parquet and Arrow; ``a.b`` is the field b of the column a."""


def columns_of(given: Given) -> Columns:
    """Return the columns that `column_options` name."""
    text, html = given.text_column, given.html_column
    if text and html:
        raise click.UsageError("use only one of --text-column and --html-column")
    return Columns(
        html=None if text else html or USUAL.html,
        text=None if html else text or USUAL.text,
        url=given.url_column,
        id=given.id_column,
        hint=" (--text-column or --html-column names another column)",
    )


progress_option = click.option(
    "--progress/--no-progress",
    default=None,
    help="Show progress on standard error.  [default: on a terminal]",
)


def name_value_pairs(
    _: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Return the ``NAME=VALUE`` pairs of a repeatable option (a callback of click)."""
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE", param=option)
    return {name: text for name, _, text in (value.partition("=") for value in values)}


settings_option = click.option(
    "-s",
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=name_value_pairs,
    help="A setting, as in scrapy crawl: NEARDUP_TITLES=strict. May be repeated.",
)

workers_options = together(
    number_option("--jobs", default=1, help="Number of processes."),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help='Work on a Dask cluster (extra "dask"), tcp://HOST:8786. Files that its workers read'
        " or write must have the same paths there; s3:// and other addresses of fsspec also"
        " work.",
    ),
)


def setting_option(
    name: str,
    *names: str,
    help: str | None = None,  # noqa: A002  (click's name)
    default: str | None = None,
    required: bool = False,
) -> Callable[[Verb], Verb]:
    """Return the setting `name` of `OPTIONS` as an option of a verb.

    `names` is the name of the verb's parameter, if it differs. `help` and `default` replace those
    of the setting.
    """
    option = OPTIONS[name]
    kind = option.kind
    metavar = None if kind.choices else kind.metavar
    if name == "weights":  # a choice, or a function by its import path
        metavar = f"[{'|'.join(kind.choices)}|MODULE:FUNCTION]"
    if default is None and option.default is not None:
        default = kind.spelt(option.default)
    of_presets = "".join(
        f" With {preset}: {kind.spelt(values[name])}."
        for preset, values in catalogue.PRESETS.items()
        if name in values
    )
    sentence = catalogue.as_flags(help or option.help + of_presets)
    # From click 8.3 on, an option whose default is None isn't missing.
    how: dict[str, Any] = {} if kind.is_list or required else {"default": default}
    return click.option(
        catalogue.flag_of(option.setting),
        *names,
        metavar=metavar,
        type=_type_of(option),
        **how,
        multiple=kind.is_list,
        required=required,
        help=sentence + " May be repeated." * kind.is_list,
        envvar=option.setting if name == "hash_key" else None,  # others can read a command line
        show_envvar=True,
    )


def import_path(value: str) -> str:
    """Allow imports from the working directory if `value` may name a module (a type of click)."""
    if (":" in value or "." in value) and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    return value


def _type_of(option: Option) -> click.ParamType[Any] | Callable[[str], str]:
    """Return click's narrowest type for an option; `Option.read` checks the rest."""
    least, most = option.kind.bounds
    if option.name == "weights":
        return import_path
    if option.kind.choices:
        return click.Choice(option.kind.choices)
    if least is None and most is None:
        return str
    return (click.FloatRange if isinstance(option.default, float) else click.IntRange)(least, most)


def is_given(name: str) -> bool:
    """Return whether an option of the running verb was given."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def among(names: Collection[str]) -> list[str]:
    """Return the flags (``--max-distance``) of those parameters that the command line has."""
    context = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]


def refuse_given(what: str, unused: Collection[str]) -> None:
    """Raise a usage error if one of the options that `what` excludes is given."""
    for option in among(unused):
        raise click.UsageError(f"{option} can't be combined with {what}: leave it out")


shingle_size_option = setting_option("shingle_size", help=OPTIONS["shingle_size"].help)

text_options = together(
    column_options, setting_option("text"), setting_option("ignore"), rows_option, progress_option
)
"""Options of the verbs that compare texts: which text, the output, progress."""

judging_options = together(
    column_options,
    setting_option("preset"),
    *(setting_option(name) for name in options_of(Judging)),
)
"""The preset, and the options that say what a near-duplicate is."""


def judging_parameters(given: Given) -> Parameters:
    """Return the parameters that the `judging_options` of this command line set."""
    chosen = {name: getattr(given, name) for name in options_of(Judging) if is_given(name)}
    parameters = Parameters.of_preset(given.preset, **chosen)
    if "features" in chosen and parameters.method == "simhash":
        raise ConfigurationError(
            "--features has no effect if only fingerprints find pages: add --method both"
        )
    return parameters
