"""Evidence is read as it was written."""

from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.judge.evidence import (
    MAX_LABELS,
    MAX_PATHS,
    MAX_SEGMENTS,
    TEXT,
    DomPath,
    Evidence,
    short_paths,
    shortened,
    stored_size,
    told_apart,
    whole,
)
from scrapy_neardup.judge.sketch import Sketch

SIZES = 192, 64
short, word = st.integers(1, (1 << 16) - 1), st.integers(0, (1 << 32) - 1)


def sketch(size):
    return st.builds(Sketch, st.integers(0, 20), st.integers(0, (1 << size) - 1))


heads = {
    **dict.fromkeys(("host", "folder", "path", "title", "embedded", "rows", "named_rows"), word),
    "links": word,
    "labels": st.integers(0, MAX_LABELS),
    **dict.fromkeys(("query", "name"), short),
    "segments": st.frozensets(short, max_size=MAX_SEGMENTS),
    "has_canonical": st.booleans(),
}
bodies = {
    "paths": st.dictionaries(
        short, st.builds(DomPath, word, st.integers(0, 255)), max_size=MAX_PATHS
    ),
    "sketches": st.tuples(*map(sketch, SIZES)),
}


@given(st.builds(Evidence, **heads, **bodies))
def test_evidence(evidence):
    packed = evidence.pack(SIZES)
    assert len(packed) == stored_size(SIZES)
    assert Evidence.unpack(packed, SIZES) == evidence
    short = shortened(packed)
    blanks = 2 * (MAX_SEGMENTS - len(evidence.segments)) + 7 * (MAX_PATHS - len(evidence.paths))
    assert len(short) == 1 + len(packed) - blanks
    assert whole(short + b"url", len(packed)) == (packed, b"url")


def test_rows_and_shingles_at_some_paths():
    """Those of text, and of elements named as boilerplate, as the low bit of a path says."""
    rows = 7 << 16
    paths = {4: DomPath(5, 1), 6: DomPath(0xFFFF_FFFF, 2), 5: DomPath(3, 4)}
    evidence = Evidence(rows=rows, named_rows=9, paths=paths)
    found = [evidence.rows_without(each) for each in ((), {4}, {6}, {8}, {5}, {4, 5, 6})]
    assert found == [
        (rows, 9), (rows - 5, 9), (rows + 1, 9), (rows, 9), (rows, 6), (rows - 4, 6)
    ]  # fmt: skip
    counts = [[evidence.shingles_at(each, kind) for kind in (0, 1)] for each in ({4, 6, 5}, {4})]
    assert counts == [[3, 4], [1, 0]]


def test_ends_of_a_list_are_paths_of_their_own_but_not_those_of_a_list_of_links():
    texts, links = ([False] * 4, [True] * 4)
    assert len({*short_paths([9] * 4, [TEXT] * 4, texts)}) == 3
    assert len({*short_paths([9] * 4, [TEXT] * 4, links)}) == 1


def test_ends_of_a_list_are_told_apart_last():
    """A box of 20 words, and a clock among paragraphs, beside a table of many cells."""
    blocks = [*[7] * 30, 8, *range(100, 100 + 2 * (MAX_PATHS - 3), 2), 50, 8]
    counts = [1] * (len(blocks) - 2) + [20, 100]
    names = short_paths(blocks, [TEXT] * len(blocks), [False] * len(blocks))
    told = told_apart(names, counts, blocks)
    assert len(told) == MAX_PATHS
    assert told[0] == names[-1]  # the last one
    assert {*names[30:]} == {*told}
