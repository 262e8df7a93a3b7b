"""Compressed tables: codecs over buffers, and the index that probes the tables.

These modules decode bytes; `scrapy_neardup.stores.packfile` defines the layout of a file.
Nothing is decoded before its checksum has been verified.
"""

from scrapy_neardup.tables.packed.checked import Checked, Encoded, checksums
from scrapy_neardup.tables.packed.packedindex import (
    RETRIEVED_FAST,
    RETRIEVED_SMALL,
    Opened,
    PackedIndex,
    encode_index,
    packed_design,
)
from scrapy_neardup.tables.packed.rows import Strings, Unpacked

__all__ = [
    "RETRIEVED_FAST",
    "RETRIEVED_SMALL",
    "Checked",
    "Encoded",
    "Opened",
    "PackedIndex",
    "Strings",
    "Unpacked",
    "checksums",
    "encode_index",
    "packed_design",
]
