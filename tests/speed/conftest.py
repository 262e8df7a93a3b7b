import pytest

from scrapy_neardup import _speed


@pytest.fixture(autouse=True)
def refused(monkeypatch):
    """What a test refuses is forgotten with it."""
    monkeypatch.setattr(_speed, "REFUSED", dict(_speed.REFUSED))
    return _speed.REFUSED
