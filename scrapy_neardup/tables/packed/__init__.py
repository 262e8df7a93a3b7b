"""Compressed tables: codecs over buffers, and the index that probes the tables.

These modules decode bytes; `scrapy_neardup.stores.packfile` defines the layout of a file.
Nothing is decoded before its checksum has been verified.
"""

from scrapy_neardup.tables.packed.packedindex import PackedIndex

__all__ = ["PackedIndex"]
