from pathlib import Path

import pytest
from datasets import write_lines

from scrapy_neardup.fingerprints import hamming_distance, simhash

WORDS = [f"word{number}" for number in range(300)]
PAGES = {
    "first": " ".join(WORDS),
    "near": " ".join([*WORDS[:150], "another", *WORDS[151:]]),
    "other": " ".join(f"other{number}" for number in range(300)),
    "third": " ".join(f"third{number} {word}" for number, word in enumerate(WORDS[:40])),
    "empty": "",
}


OWN = """
import numpy as np
from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.shingles import shingle_hashes
KNOWN = shingle_hashes(token_hashes("word7 other7 third7"), 1)
half = lambda hashes, counts: np.full(len(hashes), 0.5)
first_only = lambda hashes, counts: np.isin(hashes, KNOWN) / 2
few = lambda hashes, counts: [1.0]
words = lambda hashes, counts: ["heavy"] * len(hashes)
endless = lambda hashes, counts: np.full(len(hashes), np.inf)
number = 3
"""


@pytest.fixture
def scan(call, rows):
    write_lines(Path("pages.jsonl"), [{"url": url, "text": text} for url, text in PAGES.items()])
    Path("stop.txt").write_text("word1 Another\nword150")
    return lambda *options: rows(call("scan", "pages.jsonl", "--signature", *options).stdout)


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ("mod-p --modulus 4", True),
        ("mod-p --modulus 1 --min-resemblance 0.98", False),
        ("winnowing", True),
        ("winnowing --shingle-size 1 --unit line", False),
        ("buckets", True),
        ("i-match", True),  # words of one page alone are in no lexicon
        ("i-match --idf idf.tsv", True),
        ("buckets --min-resemblance 1", False),
        ("lexicons", True),
        ("simhash --max-distance 5", True),
        ("simhash --max-distance 4", False),
        ("simhash --max-distance 0 --shingle-size 1 --idf stop.tsv", True),
        ("simhash --max-distance 0 --shingle-size 1 --idf own:first_only", True),
        ("simhash --max-distance 0 --shingle-size 1 --weights own:first_only", True),
        ("i-match --idf own:half", False),
        ("i-match --idf own:first_only", True),
        ("simhash --max-distance 0 --unit phrase --stop-words stop.txt --stem english", True),
    ],
)
def test_pages_are_judged_by_one_signature(scan, options, near):
    Path("own.py").write_text(OWN)
    Path("stop.tsv").write_text("Another\t0\nword150\t0\n")
    Path("idf.tsv").write_text("".join(f"{word}\t1\n" for word in WORDS if word != "word150")
                               + "rare\t2\nnew york\t0.5\n")  # fmt: skip
    found = {row["page"]: row for row in scan(*options.split())}
    assert [*found] == [*PAGES]
    assert [found[page]["verdict"] for page in ("first", "near", "third", "empty")] == [
        "new", "duplicate" if near else "new", "new", "unjudged",
    ]  # fmt: skip
    assert found["near"]["of"] == ("first" if near else None)
    assert ("fingerprint" if "simhash" in options else "signature") in found["first"]


def test_simhashes_are_those_of_python_and_input_of_pairs(scan, call, rows):
    found = {row["page"]: row for row in scan("simhash", "--max-distance", "8")}
    mine = {page: simhash(text, shingle_size=4) for page, text in PAGES.items() if text}
    assert {page: int(row["fingerprint"], 16) for page, row in found.items()
            if row["fingerprint"]} == mine  # fmt: skip
    distance = hamming_distance(mine["first"], mine["near"])
    assert found["near"]["distance"] == distance
    write_lines(Path("signed.jsonl"), found.values())
    assert rows(call("pairs", "signed.jsonl", "--max-distance", distance).stdout) == [
        {"a": "first", "b": "near", "distance": distance}
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--signature i-match --idf no_such:f", "--idf no_such:f: No module named 'no_s"),
        ("--signature simhash --idf own:number", "--idf own:number isn't a function"),
        ("--signature simhash --idf own:few", "the callable must return one finite"),
        ("--signature lexicons --idf own:endless", "must return one finite weight"),
        ("--weights own:words", "--weights: the callable must return one finite weight >= 0"),
        ("--weights own:none", "or the dotted path of one (module 'own' has no attribute"),
        ("--weights tfidf", "--weights must be 'set', 'tf', 'sqrt', 'log', a callable"),
    ],
)
def test_weights_that_cannot_be_used(call, options, said):
    Path("own.py").write_text(OWN)
    page = '{"text": "one page of some words"}'
    assert said in call("scan", "-", *options.split(), stdin=page, status=2).stderr
