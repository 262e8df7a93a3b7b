"""Shingles within rows, and words that count, against plain loops over the words."""

from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprints.shingles import shingle_hashes
from scrapy_neardup.judge.shingling import BlockTokens, Text, _made, parted
from scrapy_neardup.judge.sketch import SharedShingles
from scrapy_neardup.text.blocks import Form

SIZE = 4
blocks = st.lists(
    st.tuples(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.booleans(), st.booleans()),
    min_size=1, max_size=9,
)  # fmt: skip


@given(blocks)
def test_shingles_lie_in_one_row_and_in_no_link(made):
    """A block is its words, whether it is a link, and whether its row is that of the one before.

    A long last row keeps links from counting as text, as they do where there is little else.
    """
    made = [*made, ([*range(10, 60)], False, False)]
    rows = [[]]
    for number, (words, is_link, is_joined) in enumerate(made):
        if number and not is_joined:
            rows.append([])
        rows[-1] += [(word, is_link) for word in words]
    wanted = []
    for row in rows:
        size = min(SIZE, len(row))
        for start in range(len(row) - size + 1):
            window = row[start : start + size]
            if not any(is_link for _, is_link in window):
                words = np.array([word for word, _ in window], np.uint64)
                wanted += shingle_hashes(words, size).tolist()
    tokens = np.array([word for words, _, _ in made for word in words], np.uint64)
    counts = np.array([len(words) for words, _, _ in made])
    forms = bytes(Form.LINKS if is_link else Form.CONTENT for _, is_link, _ in made)
    joined = bytes(is_joined for _, _, is_joined in made)
    found = parted(
        tokens, counts, forms, array("I", [3] * len(made)), joined, SIZE, 0, frozenset()
    )
    assert sorted(found[2].tolist()) == sorted(wanted)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 30), st.booleans()), min_size=2))
def test_any_dom_path_can_be_told_apart(made):
    """A block is its number of words, its DOM path, and whether its row is that before it."""
    counts, paths, joined = zip(*made, strict=True)
    tokens = np.random.default_rng(1).integers(0, 99, sum(counts), np.uint64)
    columns = array("I", [2 * path for path in paths]), bytes(joined)
    source = BlockTokens(tokens, np.array(counts), bytes(len(made)), *columns, SIZE, 16)
    text = _made(source, frozenset())
    rows = text.rows_by_path()
    assert {path: at.rows for path, at in text.standing.items()}.items() <= rows.items()
    assert sum(rows.values()) % (1 << 32) == text.rows
    for path in rows:
        told = text.telling(frozenset({path}))
        assert path not in told.standing or told.standing[path].rows == rows[path]
        assert path in told.standing or len(set(paths)) == 1  # there is little else
        for field in ("shingles", "row_shingles", "least", "simhash", "rows"):
            assert np.array_equal(getattr(told, field), getattr(text, field))


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=20),
    st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)), st.integers(1, SIZE),
)  # fmt: skip
def test_a_word_counts_if_one_of_its_shingles_does(words, shared, left_out, size):
    tokens = np.array(words, np.uint64) << np.uint64(1)
    of_page = shingle_hashes(tokens, size)
    known = SharedShingles()
    known.set(np.unique([of_page[n] for n in shared if n < len(of_page)]).astype(np.uint64))
    shingles = np.unique(of_page | np.uint64(1))
    hidden = {int(of_page[n]) | 1 for n in left_out if n < len(of_page)}
    paths = np.array([2 if int(each) in hidden else 1 for each in shingles], np.uint8)
    source = BlockTokens(tokens, np.array([len(tokens)]), bytes([Form.CONTENT]), size=size)
    text = Text(shingles, paths, of_page, paths, source=source)
    counts = [not {int(each) | 1} & (hidden | set(known.of_any_kind.tolist())) for each in of_page]
    width = min(size, len(words))
    wanted = [any(counts[max(0, n - width + 1) : n + 1]) for n in range(len(words))]
    assert text.counted(2, [known]).tolist() == wanted
