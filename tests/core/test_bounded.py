"""A dict that keeps its newest entries."""

from scrapy_neardup.bounded import BoundedDict


def test_the_oldest_keys_go():
    known = BoundedDict(3)
    for key in "abc":
        known[key] = 1
    known["a"] = 2
    known.setdefault("d", 3)
    assert list(known.items()) == [("b", 1), ("c", 1), ("d", 3)]
    known.setdefault("b", 4)
    known.move_to_end("b")
    known["e"] = 5
    assert list(known.items()) == [("d", 3), ("b", 1), ("e", 5)]
