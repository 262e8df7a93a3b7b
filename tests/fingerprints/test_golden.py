"""Fixed texts and their fingerprints: what is stored today must be found tomorrow.

A value that changes means that every stored fingerprint is void: it takes a new
`HASH_VERSION`, and then a new table.
"""

import json
import unicodedata
from pathlib import Path

import pytest
import reference_simhash as reference

from scrapy_neardup.fingerprints import HASH_VERSION, digest, simhash, token_hashes

ROWS = Path(__file__).with_name("golden.tsv").read_text(encoding="utf-8").splitlines()[1:]

TOKENS = {
    "a": 0xFB761138E1E0A78C,
    "ab": 0xF21ECDD6B1A252FA,
    "abcdefgh": 0xC2018F56AFC8C8D3,
    "abcdefghi": 0x7FCB64AC99D7EDAC,
    "é": 0xDD2AA46379670F87,
    "漢": 0x6DD665DAB93B4058,
    "z" * 64: 0x706A0C9BF87AF61A,
    "z" * 65: 0x934F3564453D276C,
}


def test_version():
    assert HASH_VERSION == "ndx10-64"


@pytest.mark.parametrize("row", ROWS)
def test_simhash(row):
    text, *values = row.split("\t")
    text = json.loads(text)
    plain, tf, log, words, keyed = (int(value, 16) for value in values)
    assert simhash(text) == plain == reference.simhash(text)
    assert simhash(unicodedata.normalize("NFD", text)) == plain
    assert simhash(text, weights="tf") == tf
    assert simhash(text, weights="log") == log
    assert simhash(text, shingle_size=1) == words
    assert simhash(text, key=b"secret") == keyed == reference.simhash(text, key=b"secret")


@pytest.mark.parametrize(("token", "value"), TOKENS.items())
def test_token_hash(token, value):
    assert token_hashes(token).tolist() == [value] == [reference.token_hash(token)]


def test_digest():
    assert digest() == 0xFD5B52E2915BC215
    assert digest("") == 0xC4A308C17FB82396
    assert digest("a", b"b") == 0xB5394201019343D5
    assert digest("a", key=b"k", bits=32) == 0xB0FC2167
