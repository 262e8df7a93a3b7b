"""Pages in Parquet files, and a file of fingerprints of each file of pages.

Rule of this room: one file in, one file out, all or nothing; a unit of work for any engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, NamedTuple

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.errors import InputError
from scrapy_neardup.fingerprints.filtering import Filter
from scrapy_neardup.offline.aside import written
from scrapy_neardup.offline.corpora import Corpus
from scrapy_neardup.offline.featurefiles import FILTER_KEY, spelt
from scrapy_neardup.offline.fpparquet import ID_COLUMN, SCHEMA_KEY
from scrapy_neardup.offline.scan import Analysed, analysed
from scrapy_neardup.verdict import Page

_GROUP_ROWS = 1 << 16
"""Number of pages in a row group."""


class PageFile(NamedTuple):
    """A file of pages, and where its fingerprints go."""

    path: str
    target: str


def fingerprint_file(analyser: Analyser, task: PageFile) -> int:
    """Write the fingerprints of the pages of a file as Parquet; return how many.

    The columns are ``page``, ``page_id``, ``fingerprint`` and ``tokens``, and ``features`` where
    the method has them; the metadata say how they were made. Pages that can't be judged are
    left out.

    Raises
    ------
    InputError
        A file can't be read or written, or a package that it needs isn't installed.
    """
    pages = analysed(Corpus([task.path]), analyser)
    with written(task.target) as file:
        return _write(file, pages, analyser)


def _write(file: IO[bytes], pages: Iterable[Analysed], analyser: Analyser) -> int:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415  (an extra)
        from pyarrow.parquet import (  # type: ignore[import-untyped]  # noqa: PLC0415
            ParquetWriter,
        )
    except ImportError as error:
        raise InputError(
            "Parquet files need the package pyarrow: pip install 'scrapy-neardup[parquet]'"
        ) from error
    made: dict[bytes, str] = {SCHEMA_KEY: json.dumps(analyser.parameters.schema())}
    columns = [
        ("page", pa.string()),
        (ID_COLUMN, pa.uint64()),
        ("fingerprint", pa.uint64()),
        ("tokens", pa.uint32()),
    ]
    kind = Filter(*analyser.parameters.features)
    if analyser.parameters.method != "simhash":
        made[FILTER_KEY] = spelt(kind)
        columns.append(("features", pa.list_(pa.uint64(), kind.features)))
    schema = pa.schema(columns, metadata=made)
    count = 0
    judged = _judged(pages, kind.features)
    with ParquetWriter(file, schema) as writer:
        while rows := list(islice(judged, _GROUP_ROWS)):
            arrays = [
                pa.array(column, type=field.type)
                for column, field in zip(zip(*rows, strict=True), schema, strict=False)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def _judged(pages: Iterable[Analysed], features: int) -> Iterator[tuple[object, ...]]:
    for name, page in pages:
        if isinstance(page, Page):
            own = page.features[:features]
            yield name, page.id, page.fingerprint, page.tokens, own or None
