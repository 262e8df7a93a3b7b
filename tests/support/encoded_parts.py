"""Encoded parts of a packed file, opened again without one."""

from scrapy_neardup.tables.packed import Checked, checksums


def reopened(parts, name):
    """Parts as a file gives them: filled up to whole words, each with its checksums."""
    opened = {}
    for key, part in parts.items():
        data = part.data.tobytes()
        length = len(data)
        data += bytes(-length % 8)
        sums = checksums(data, part.page)
        opened[key] = Checked(data, 0, length, sums, page=part.page, name=name)
    return opened
