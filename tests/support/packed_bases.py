"""Pages that a store would keep, packed."""

import numpy as np
from encoded_parts import opened

from scrapy_neardup.offline.files.storedpages import Stored, record_of
from scrapy_neardup.stores.packed import SHAPE, PackedPages
from scrapy_neardup.tables.packed import Strings, Unpacked

SCHEMA = {"hash": "blake2b-1", "shingle_size": 3}


def index_of(pages, matching, schema=SCHEMA, **options):
    """An index of pages with records, opened."""
    columns = [np.zeros(len(pages), np.uint64) for _ in range(matching.features)]
    for number, page in enumerate(pages):
        for column, feature in zip(columns, page.features, strict=False):
            column[number] = feature

    def record(number):
        page = pages[number]
        return record_of(page.fingerprint, Stored((), page.evidence))

    shape = {key: getattr(matching, key) for key in SHAPE}
    return opened(
        np.array([page.fingerprint for page in pages], np.uint64),
        schema=schema,
        ids=np.array([page.id for page in pages], np.uint64),
        records=Unpacked(shape, record, columns.__getitem__, columns=len(columns)),
        **options,
    )


def base_of(pages, matching, max_distance=3, scope="all"):
    """What a store is put over; with URLs."""
    schema = SCHEMA | {"scope": scope}
    urls = Strings.of((page.url or "").encode() for page in pages)
    return PackedPages(
        index_of(pages, matching, schema, urls=urls),
        "base.pack",
        max_distance=max_distance,
        schema=schema,
        matching=matching,
    )
