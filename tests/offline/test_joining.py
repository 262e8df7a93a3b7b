"""Joins of more than memory holds, which find what joins in memory find."""

import random

import pytest

from scrapy_neardup.offline.execution import Processes
from scrapy_neardup.offline.jobs import joining
from scrapy_neardup.offline.jobs.joining import Documents, Pages, join_sets, join_strings
from scrapy_neardup.offline.joins import encode, join, self_join
from scrapy_neardup.offline.readers.files import FoundPage


def texts(count, seed=4):
    """Texts of a few words, some of which are like others, and some of which are empty."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        words = [f"w{chance.randrange(30)}" for _ in range(chance.randrange(12))]
        if made and chance.random() < 0.5:
            words = chance.choice(made).split()
            words[chance.randrange(len(words) + 1) :] = ["new"] * chance.randrange(2)
        made.append(" ".join(words))
    return made


def numbered(found, **how):
    documents = Documents()
    records = [FoundPage(page=str(number), text=text) for number, text in enumerate(found)]
    pages = Pages(records, "main", (), **how)
    assert [*pages.number(documents)] == [*range(len(found))]
    return documents


def rows(found):
    return [*zip(found.i.tolist(), found.j.tolist(), found.values.tolist(), strict=True)]


@pytest.mark.parametrize(("measure", "threshold"), [
    ("jaccard", 0.5), ("containment", 0.6), ("overlap", 2), ("hamming", 3), ("cosine", 0.5),
])  # fmt: skip
@pytest.mark.parametrize("boundary", [None, 40])
@pytest.mark.parametrize("memory", [1, 3000, 1 << 30])
def test_any_memory_finds_the_same_pairs(monkeypatch, measure, threshold, boundary, memory):
    monkeypatch.setattr(joining, "left_of", lambda size, _: size)
    with Processes() as work:
        documents = numbered(texts(90), work=work)
    found = join_sets(
        documents, threshold, size=2, memory=memory, boundary=boundary, measure=measure
    )
    sets = documents.shingles([(0, 90)], 2)
    if boundary is None:
        whole = self_join(sets, threshold, measure=measure)
    else:
        whole = join(sets[:boundary], sets[boundary:], threshold, measure=measure)
    assert len(whole) > 9
    assert rows(found) == [
        *zip(whole.i.tolist(), whole.j.tolist(), whole.similarity.tolist(), strict=True)
    ]


@pytest.mark.parametrize("boundary", [None, 25])
def test_strings_of_any_memory(monkeypatch, boundary):
    monkeypatch.setattr(joining, "left_of", lambda size, _: size)
    strings = texts(60)
    few, many = (
        join_strings(strings, 4, q=2, memory=memory, boundary=boundary)
        for memory in (2000, 1 << 30)
    )
    assert rows(few) == rows(many)
    assert len(rows(few)) > 20


def test_tokens_are_numbered_alike_in_several_processes(monkeypatch):
    monkeypatch.setattr(joining, "_NUMBERED", 7)
    found = texts(100)
    with Processes() as alone, Processes(2) as two:
        one, other = numbered(found, work=alone), numbered(found, work=two)
    sets = encode([text.split() for text in found])
    for documents in (one, other):
        assert documents.sizes == [len(text.split()) for text in found]
        same = documents.shingles([(0, 100)], 1)
        assert same.sizes.tolist() == sets.sizes.tolist()
        pairs, wanted = self_join(same, 0.5), self_join(sets, 0.5)
        assert pairs.i.tolist() == wanted.i.tolist()
        assert pairs.j.tolist() == wanted.j.tolist()
