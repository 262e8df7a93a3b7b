"""Very long pages: nothing is lost, and memory stays in proportion."""

import tracemalloc

import pytest

from scrapy_neardup.fingerprints import features, simhash, simhash_features, token_hashes
from scrapy_neardup.text import Extractor, normalize, parse_html

PARAGRAPH = "<p>A page of {0} words, é, and {0} more <b>of</b> them: {1}</p>\n"


def page(megabytes):
    size = len(PARAGRAPH) + 8
    return "<html><body>" + "".join(
        PARAGRAPH.format(n, n * 7919 % 100_003) for n in range(megabytes * 10**6 // size)
    )


@pytest.mark.parametrize("megabytes", [1, 8])
def test_a_large_page(megabytes):
    body = page(megabytes).encode()
    text = Extractor().extract(parse_html(body)).text
    paragraphs = body.count(b"<p>")
    tokens = token_hashes(text)
    assert len(tokens) == len(normalize(text).split()) == 12 * paragraphs
    hashes, _ = features(tokens)
    assert simhash(text) == simhash_features(hashes, None)


@pytest.mark.parametrize("filler", ["", "é"])
@pytest.mark.parametrize("megabytes", [5, pytest.param(50, marks=pytest.mark.stress)])
def test_memory(megabytes, filler):
    """Beyond its own results a fingerprint takes a few megabytes, however long the text."""
    text = " ".join(f"word{n % 5_000}{filler} n{n}" for n in range(megabytes * 10**6 // 14))
    simhash("é" + text[:1_000])  # tables are built
    tracemalloc.start()
    tokens = token_hashes(text)
    size = tokens.nbytes
    assert tracemalloc.get_traced_memory()[1] < 2 * size + 20e6
    tracemalloc.reset_peak()
    hashes, _ = features(tokens)
    assert tracemalloc.get_traced_memory()[1] < 4 * size + 30e6
    del tokens
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    simhash_features(hashes, None)
    assert tracemalloc.get_traced_memory()[1] < before + 10e6
    tracemalloc.stop()
