"""The output of ``scrapy-neardup plan --threshold``: a filter by features, and its curve."""

from __future__ import annotations

import json

import click

from scrapy_neardup.fingerprints.filtering import Filter, FilterRule, choose_filter
from scrapy_neardup.offline.files.featurefiles import spelt
from scrapy_neardup.settings.parameters import Parameters

_RESEMBLANCES = tuple(percent / 100 for percent in range(50, 101))
_EVERY = 5
"""Percent between the resemblances of the table, which has all near 1 and near the threshold."""
_BAR = 40
"""Characters of the longest bar."""


def print_filter(threshold: float, minima: int, rule: FilterRule, *, as_json: bool) -> None:
    """Print the filter for a threshold, and the chance that it and others accept a resemblance."""
    chosen = choose_filter(threshold, minima=minima, rule=rule)
    others = {"the default": Filter(*Parameters().features), "AltaVista's": Filter(6, 14, 2)}
    if as_json:
        curve = [[x, chosen.acceptance(x)] for x in _RESEMBLANCES]
        result = {"threshold": threshold, "features": spelt(chosen), "rule": rule}
        result |= {"slope": chosen.slope(threshold), "curve": curve}
        click.echo(json.dumps(result, indent=2))
        return
    count, size, shared = chosen
    click.echo(
        f"NEARDUP_FEATURES = {spelt(chosen)!r}: {count} features of {size} minima, of which"
        f" {shared} must be shared\n"
    )
    names = [f"{name} {spelt(each)}" for name, each in others.items()]
    click.echo(f"resemblance  accepted  {'':{_BAR}}  {'  '.join(names)}")
    for x in _shown(threshold):
        accepted = chosen.acceptance(x)
        bar = "#" * round(_BAR * accepted)
        beside = "  ".join(
            f"{each.acceptance(x):{len(name)}.4f}"
            for name, each in zip(names, others.values(), strict=True)
        )
        mark = " <" if x == threshold else ""
        click.echo(f"{x:11.3f}  {accepted:8.4f}  {bar:{_BAR}}  {beside}{mark}")
    slopes = [f"{each.slope(threshold):.2f}" for each in (chosen, *others.values())]
    click.echo(f"slope at {threshold}: {slopes[0]}; {' and '.join(slopes[1:])}")


def _shown(threshold: float) -> list[float]:
    some = {x for place, x in enumerate(_RESEMBLANCES) if not place % _EVERY}
    near = {x for x in _RESEMBLANCES if abs(x - threshold) < 0.045}
    return sorted({*some, *near, threshold})
