"""What the verbs on min-wise features share: sizes of memory, pairs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import click
import numpy as np

from scrapy_neardup.cli.common import output
from scrapy_neardup.clusters import feature_pairs
from scrapy_neardup.offline.featurefiles import FeatureFiles


def print_sharing(inputs: Sequence[str], shared: int | None, max_pairs: int, path: str) -> None:
    """Print all pairs of pages that share features, and how many, as JSON lines."""
    with output(path) as results:
        files = FeatureFiles(inputs)
        rows = list(files)
        if files.filter is None:
            return
        i, j, count = feature_pairs(
            np.concatenate(rows), shared or files.filter.shared, max_pairs=max_pairs
        )
        for a, b, equal in zip(i.tolist(), j.tolist(), count.tolist(), strict=True):
            row = {"a": files.names[a], "b": files.names[b], "shared": equal}
            print(json.dumps(row), file=results)


def size_in_bytes(value: str) -> int:
    """Return the bytes that people write as 500MB or 4GB (thousands), or 1GiB.

    Raises
    ------
    click.BadParameter
        It is no size.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(i?)B?", value, re.IGNORECASE)
    if not found:
        raise click.BadParameter(f"{value!r} is no size such as 500MB or 4GB")
    number, unit, binary = found.groups()
    power = " kmgt".index(unit.lower() or " ")
    return int(float(number) * float(1024 if binary else 1000) ** power)
