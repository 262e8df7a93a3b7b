"""What the verbs that compute fingerprints share: how, and the store they go to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from scrapy_neardup.cli.features import features_option
from scrapy_neardup.cli.loops import running
from scrapy_neardup.cli.options import ignore_option, together
from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.parameters import PRESETS, SCOPES, TITLES, Parameters
from scrapy_neardup.stores import Store, open_store

_DEFAULT = Parameters()

max_distance_option = click.option(
    "--max-distance",
    metavar="K",
    type=click.IntRange(0, 8),
    default=_DEFAULT.max_distance,
    help="Largest Hamming distance of a near-duplicate, 0 to 8 bits; a Redis store takes 6 at"
    " most.",
)

judging_options = together(
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default="best",
        help="Defaults of the options below: fingerprints and min-wise features find a page that"
        " may be repeated, and sketches of 360 bytes confirm it (best); fingerprints find it, and"
        " 120 bytes confirm it (compact); fingerprints alone decide (paper).",
    ),
    click.option(
        "--method",
        type=click.Choice(["simhash", "minwise", "both"]),
        help="What finds a page that may be repeated: fingerprints within K bits, shared"
        " min-wise features, or either.",
    ),
    features_option(
        "With minwise or both: K features of S minima each, of which R are to be shared; Broder's"
        " own are 6,14,2.  [default: 8,8,1]"
    ),
    click.option(
        "--min-resemblance",
        metavar="R",
        type=click.FloatRange(0, 1),
        help="Estimated resemblance that confirms it, such as 0.9; 0 confirms nothing.",
    ),
    click.option(
        "--titles",
        type=click.Choice(TITLES),
        default=_DEFAULT.titles,
        help="Whether next to all of the text must be equal where titles differ: on sites whose"
        " pages show that it must, always, or never.",
    ),
    max_distance_option,
    click.option(
        "--shingle-size",
        metavar="N",
        type=click.IntRange(1, 64),
        help="Words in a shingle.  [default: 4; 3 with paper]",
    ),
    click.option(
        "--weights",
        type=click.Choice(["set", "tf", "sqrt", "log"]),
        default=str(_DEFAULT.weights),
        help="What a feature weighs that occurs tf times: 1, tf, its root or logarithm.",
    ),
    click.option(
        "--text",
        type=click.Choice(["main", "full"]),
        default=_DEFAULT.text,
        help="The text that is judged: without templates (navigation, footers), or all of it.",
    ),
    ignore_option,
    click.option(
        "--min-tokens",
        metavar="N",
        type=click.IntRange(0),
        default=_DEFAULT.min_tokens,
        help="Pages with fewer words are compared for equality, pictures and data included.",
    ),
    click.option(
        "--scope",
        type=click.Choice(SCOPES),
        default=_DEFAULT.scope,
        help="Compare a page with all others, or with those of its host, registered domain or"
        " declared language. Pages without a URL are compared with each other, and so are"
        " those that declare no language.",
    ),
    click.option(
        "--hash-key",
        metavar="TEXT",
        envvar="NEARDUP_HASH_KEY",
        show_envvar=True,
        callback=lambda _, __, text: text.encode() if text else None,
        help="The secret that fingerprints depend on. Better set the variable: others see a"
        " command line.",
    ),
)
"""The options that are fields of `Parameters`, named and meant like settings."""


def judging_parameters(options: Mapping[str, Any]) -> Parameters:
    """Return what the options of `judging_options` say."""
    given = {name: value for name, value in options.items() if value is not None}
    preset = PRESETS[given.pop("preset")]
    parameters = Parameters(**{**preset, **given})
    if "features" in given and parameters.method == "simhash":
        raise ConfigurationError(
            "--features has no use where only fingerprints find pages: add --method both"
        )
    return parameters


@contextmanager
def opened_store(
    uri: str, namespace: str, parameters: Parameters, *, expected_pages: int = 1_000_000
) -> Iterator[tuple[Store, asyncio.Runner]]:
    """Yield an open store, recording what a crawl would, and what runs its calls."""
    store = open_store(
        uri,
        namespace=namespace,
        max_distance=parameters.max_distance,
        expected_pages=expected_pages,
        schema=parameters.schema(),
        matching=parameters.matching,
    )
    with running() as runner:
        try:
            runner.run(store.open())
        except StoreUnavailableError:
            raise  # a server that may answer later
        except StoreError as error:
            raise ConfigurationError(str(error)) from error  # the command line names it
        try:
            yield store, runner
        finally:
            runner.run(store.close())
