"""Options of the verbs that judge pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapy_neardup.cli.flags import is_given, setting_option, together
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.settings.catalogue import Judging, options_of
from scrapy_neardup.settings.parameters import Parameters

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
