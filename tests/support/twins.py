"""What is compiled, and what does the same in pure Python."""

import pytest

import scrapy_neardup.judge.analysis  # noqa: F401  (what chooses between twins)
from scrapy_neardup import _speed


def both(name, *arguments):
    """What the twins of a name make of these arguments, which has to be the same."""
    if name not in _speed.TWINS:
        pytest.skip("pure Python")
    pure, compiled = _speed.TWINS[name]
    expected = pure(*arguments)
    assert _speed.same(compiled(*arguments), expected)
    return expected


def both_ways(module, name, compiled, pure=None):
    """Make a fixture that runs a module's tests with each of the values of a name."""

    @pytest.fixture(params=dict.fromkeys([compiled, pure]), ids=str, autouse=True, scope="module")
    def way(request):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, request.param)
            yield

    return way
