"""Sketches of sets of shingles, as tests need them."""

from scrapy_neardup.judge.sketch import Sketch, level_of, marked


def sketch_of(shingles, size, level=None):
    """Return the sketch of a set, at the lowest level that isn't too dense unless one is given."""
    level = level_of(len(shingles), size) if level is None else level
    return Sketch(level, int.from_bytes(marked(shingles, size, level), "little"))
