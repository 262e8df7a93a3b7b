"""Which documents of a collection are like a text, exactly."""

import random

import pytest
from datasets import documents, shingle_set

from scrapy_neardup.offline.jobs import querying
from scrapy_neardup.offline.jobs.querying import nearest
from scrapy_neardup.offline.joins import resemblance


@pytest.mark.parametrize("left", [1 << 30, 50_000, 1])
def test_the_nearest_are_those_of_brute_force(monkeypatch, left):
    monkeypatch.setattr(querying, "left_of", lambda *_: left)
    chance, rows, asked = random.Random(2), documents(300), []
    for row in chance.sample(rows, 20):
        words = row["text"].split()
        words[chance.randrange(len(words))] = "other"
        asked.append(" ".join(words))
    named = [(row["id"], row["text"]) for row in rows]
    sets = [shingle_set(text) for _, text in named]
    for text, found in zip(asked, nearest(asked, named, top=5, min_resemblance=0.2), strict=True):
        own = shingle_set(text)
        shares = [(-resemblance(own, other), place) for place, other in enumerate(sets)]
        wanted = [(named[at][0], -share) for share, at in sorted(shares)[:5] if -share >= 0.2]
        assert found == wanted != []
    assert len(*nearest(asked[:1], named, top=1000, min_resemblance=0)) == len(rows)


def test_texts_without_words_are_like_none():
    wordless = [("a", " ."), ("b", ""), ("c", "a b c")]
    assert nearest(["a b c", "", "x"], wordless) == [[("c", 1.0)], [], []]
    assert nearest([], wordless) == []
    assert nearest(["a b c"], []) == [[]]
