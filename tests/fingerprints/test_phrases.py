"""Stop words and phrases as features."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprints import features, simhash_features, token_hashes
from scrapy_neardup.fingerprints.phrases import find_phrases, joined, without
from scrapy_neardup.fingerprints.shingles import shingle_hashes


def test_stop_words_are_left_out():
    tokens = token_hashes("The cat sat on the mat")
    assert np.array_equal(without(tokens, ["the", "on"]), token_hashes("cat sat mat"))
    assert np.array_equal(without(tokens, []), tokens)


def test_words_that_keep_together_are_phrases():
    draw = np.random.default_rng(1)
    words = [f"w{n}" for n in range(200)]
    texts = []
    for _ in range(60):
        text = draw.choice(words, 100).tolist()
        text[40:42] = ["new", "york"]
        texts.append(token_hashes(" ".join(text)))
    phrases = find_phrases(texts)
    assert shingle_hashes(token_hashes("new york"), 2)[0] in phrases
    assert len(phrases) < 20
    assert not len(find_phrases(texts, least=10**6))
    assert not len(find_phrases([]))


def test_a_phrase_takes_the_place_of_its_words():
    texts = ("new york", "york city")
    phrases = np.sort([shingle_hashes(token_hashes(text), 2)[0] for text in texts])
    text = token_hashes("in new york city new york")
    found = joined(text, phrases)
    assert len(found) == 4  # what was joined isn't joined again
    assert found[1] == found[3] == shingle_hashes(token_hashes("new york"), 2)[0]
    assert found[2] == token_hashes("city")[0]
    assert simhash_features(*features(found, shingle_size=1)) != simhash_features(
        *features(text, shingle_size=1)
    )


@given(st.lists(st.integers(0, 3), max_size=12), st.sets(st.tuples(*[st.integers(0, 3)] * 2)))
def test_phrases_are_joined_from_left_to_right(numbers, pairs):
    tokens = np.array(numbers, np.uint64)
    hashes = {pair: int(shingle_hashes(np.array(pair, np.uint64), 2)[0]) for pair in pairs}
    expected, place = [], 0
    while place < len(numbers):
        pair = tuple(numbers[place : place + 2])
        expected.append(hashes.get(pair, numbers[place]))
        place += 2 if pair in hashes else 1
    assert joined(tokens, np.array(sorted(hashes.values()), np.uint64)).tolist() == expected
