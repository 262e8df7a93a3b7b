import json
from pathlib import Path

import pytest

from scrapy_neardup.fingerprints import hamming_distance, simhash

WORDS = [f"word{number}" for number in range(300)]
PAGES = {
    "first": " ".join(WORDS),
    "near": " ".join([*WORDS[:150], "another", *WORDS[151:]]),
    "other": " ".join(f"other{number}" for number in range(300)),
    "third": " ".join(f"third{number} {word}" for number, word in enumerate(WORDS[:40])),
    "empty": "",
}


@pytest.fixture
def scan(call, rows):
    Path("pages.jsonl").write_text(
        "".join(json.dumps({"url": url, "text": text}) + "\n" for url, text in PAGES.items())
    )
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
        ("simhash --max-distance 0 --unit phrase --stop-words stop.txt --stem english", True),
    ],
)
def test_pages_are_judged_by_one_signature(scan, options, near):
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
    Path("signed.jsonl").write_text("\n".join(map(json.dumps, found.values())))
    assert rows(call("pairs", "signed.jsonl", "--max-distance", distance).stdout) == [
        {"a": "first", "b": "near", "distance": distance}
    ]
