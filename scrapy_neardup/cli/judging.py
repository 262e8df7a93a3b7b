"""Options and the store of the verbs that judge pages."""

from __future__ import annotations

from asyncio import Runner
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from scrapy_neardup.cli.flags import is_given, setting_option, together
from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.settings.catalogue import Judging, options_of
from scrapy_neardup.settings.parameters import Parameters
from scrapy_neardup.stores import Store, open_store

judging_options = together(
    setting_option("preset"), *(setting_option(name) for name in options_of(Judging))
)
"""The preset, and the options that decide what counts as a near-duplicate."""


def judging_parameters(values: Mapping[str, Any]) -> Parameters:
    """Return the parameters that the options of `judging_options` set on this command line."""
    given = {name: values[name] for name in options_of(Judging) if is_given(name)}
    parameters = Parameters.of_preset(values["preset"], **given)
    if "features" in given and parameters.method == "simhash":
        raise ConfigurationError(
            "--features has no use where only fingerprints find pages: add --method both"
        )
    return parameters


@contextmanager
def opened_store(
    uri: str, namespace: str, parameters: Parameters, *, expected_pages: int = 1_000_000
) -> Iterator[tuple[Store, Runner]]:
    """Yield an open store, which records what a crawl would, and a runner for its coroutines."""
    store = open_store(
        uri,
        namespace=namespace,
        max_distance=parameters.max_distance,
        expected_pages=expected_pages,
        schema=parameters.schema(),
        matching=parameters.matching,
    )
    with Runner() as runner:
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
