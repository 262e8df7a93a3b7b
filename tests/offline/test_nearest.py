"""Which documents of a collection are like a text."""

import random

import pytest
from datasets import documents

from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.weights import features
from scrapy_neardup.offline.jobs.querying import Index


def shingles(text):
    return set(features(token_hashes(text), shingle_size=4)[0].tolist())


@pytest.fixture(scope="module")
def rows():
    return documents(600)


@pytest.fixture(scope="module")
def index(rows):
    return Index((row["id"], row["text"]) for row in rows)


def test_the_nearest_are_found(rows, index):
    chance = random.Random(2)
    for row in chance.sample(rows, 20):
        words = row["text"].split()
        words[chance.randrange(len(words))] = "other"
        asked = " ".join(words)
        found = index.query(asked, top=1000, min_resemblance=0)
        own = shingles(asked)
        for other in rows:
            theirs = shingles(other["text"])
            exact = len(own & theirs) / len(own | theirs)
            share = dict(found).get(other["id"], 0)
            assert share == pytest.approx(exact, abs=0.15)


def test_order_and_number(rows, index):
    text = rows[0]["text"]
    found = index.query(text, top=3)
    assert len(found) <= 3
    assert found[0] == (rows[0]["id"], 1.0)
    assert [share for _, share in found] == sorted((share for _, share in found), reverse=True)
    assert [index.query(each, top=3) for each in (text, "", "w x y z a b c")] == [found, [], []]
    assert len(index.query(text, top=1000, min_resemblance=0)) == len(rows)


def test_documents_without_words_are_none():
    index = Index([("a", " ."), ("b", "")])
    assert index.query("a b c", top=10, min_resemblance=0) == []
