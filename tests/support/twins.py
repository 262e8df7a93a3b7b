"""What is compiled, and what does the same in pure Python."""

import pytest

import scrapy_neardup.analysis  # noqa: F401  (what chooses between twins)
from scrapy_neardup import _speed


def both(name, *arguments):
    """What the twins of a name make of these arguments, which has to be the same."""
    if name not in _speed.TWINS:
        pytest.skip("pure Python")
    pure, compiled = _speed.TWINS[name]
    expected = pure(*arguments)
    assert _speed.same(compiled(*arguments), expected)
    return expected
