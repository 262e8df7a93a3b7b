"""The Hamming Distance Problem: find all stored fingerprints within k bits of a given one."""

from scrapy_neardup.tables.design import Table, TableDesign
from scrapy_neardup.tables.index import HammingIndex

__all__ = ["HammingIndex", "Table", "TableDesign"]
