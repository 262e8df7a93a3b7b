"""Encoded parts of a packed file, opened again without one."""

from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.packed.checked import Checked, checksums
from scrapy_neardup.tables.packed.packedindex import Opened, PackedIndex, encode_index

TEN = cuts.nested(3, levels=(5,))
"""A design of ten tables."""


def reopened(parts, name):
    """Parts as a file gives them: filled up to whole words, each with its checksums."""
    opened = {}
    for key, part in parts.items():
        data = b"".join(part.chunks())
        length = len(data)
        data += bytes(-length % 8)
        sums = checksums(data, part.page)
        opened[key] = Checked(data, 0, length, sums, page=part.page, name=name)
    return opened


def opened(fingerprints, **options):
    """An index of `fingerprints`, encoded and opened again."""
    pieces = encode_index(fingerprints, **{"design": TEN, **options})
    return PackedIndex(
        {
            name: Opened(piece.parameters, reopened(piece.parts, "an index"))
            for name, piece in pieces
        }
    )
