"""Options and the store of the verbs that judge pages."""

from __future__ import annotations

from asyncio import Runner
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from scrapy_neardup.cli.flags import is_given, setting_option, together
from scrapy_neardup.errors import ConfigurationError, StoreError, StoreUnavailableError
from scrapy_neardup.fingerprints import PUBLIC_KEY
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
) -> Iterator[tuple[Store, Runner, Parameters]]:
    """Yield an open store, recording what a crawl would; what runs its calls; and the parameters.

    These are with the store's key, which for one in memory is the public key unless another one is
    asked for: what is printed can be compared with the pages of other runs.
    """
    hash_key = parameters.hash_key
    if hash_key is None and uri.lower().startswith("memory:"):
        hash_key = PUBLIC_KEY
    store = open_store(
        uri,
        namespace=namespace,
        max_distance=parameters.max_distance,
        expected_pages=expected_pages,
        hash_key=hash_key,
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
            yield store, runner, replace(parameters, hash_key=hash_key or store.key)
        finally:
            runner.run(store.close())
