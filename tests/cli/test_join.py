import json
import re
from itertools import combinations

import pytest
from datasets import shingle_set, write_lines

from scrapy_neardup.fingerprints.units import units_of
from scrapy_neardup.offline.joins import resemblance


def written(path, texts):
    write_lines(path, [{"url": url, "text": text} for url, text in texts.items()])
    return path


@pytest.fixture
def texts(tmp_path):
    """Pages as JSON lines, which resemble each other more and less; and their texts."""
    base = [f"w{k}" for k in range(60)]
    made = {
        "http://site/a": " ".join(base),
        "http://site/b": " ".join([*base[:58], "x", "y"]),
        "http://site/c": " ".join([*base[:30], "z", *base[31:]]),
        "http://site/other": " ".join(f"v{k}" for k in range(60)),
        "http://site/empty": "",
    }
    return written(tmp_path / "pages.jsonl", made), made


SHARES = {
    "resemblance": resemblance,
    "overlap": lambda one, other: len(one & other),
    "cosine": lambda one, other: len(one & other) / (len(one) * len(other)) ** 0.5,
    "dice": lambda one, other: 2 * len(one & other) / (len(one) + len(other)),
    "distance": lambda one, other: len(one ^ other),
}


@pytest.mark.parametrize(("options", "share", "least"), [
    *(("--threshold", "resemblance", least) for least in (0.3, 0.8, 0.9)),
    ("--measure overlap --threshold", "overlap", 55),
    *(("--measure cosine --threshold", "cosine", least) for least in (0.9, 0.96)),
    ("--measure dice --threshold", "dice", 0.9),
    *(("--measure hamming --distance", "distance", most) for most in (4, 12)),
])  # fmt: skip
def test_pairs_are_those_of_brute_force(call, rows, texts, *, options, share, least):
    path, made = texts
    sets = {url: shingle_set(text) for url, text in made.items() if text}
    pairs = {pair: SHARES[share](*map(sets.get, pair)) for pair in combinations(sets, 2)}
    is_near = least.__ge__ if share == "distance" else least.__le__
    found = rows(call("join", path, *options.split(), least).stdout)
    assert {(row["a"], row["b"]): row[share] for row in found} == {
        pair: value for pair, value in pairs.items() if is_near(value)
    }
    assert 0 < len(found) < len(pairs)


def test_a_folder_without_templates(call, rows, site):
    found = rows(call("join", site, "--threshold", 1).stdout)
    names = [(row["a"].rsplit("/")[-1], row["b"].rsplit("/")[-1]) for row in found]
    assert names == [(f"{k}a.html", f"{k}b.html") for k in range(3)]
    assert call("join", site, "--threshold", 1, "--text", "full", "--shingle-size", 1).stdout == ""


def test_against_existing_pages(call, rows, texts, tmp_path):
    path, _ = texts
    new = written(tmp_path / "new.jsonl", {"http://new": " ".join(f"v{k}" for k in range(60))})
    found = rows(call("join", new, "--existing", path).stdout)
    assert found == [{"a": "http://new", "b": "http://site/other", "resemblance": 1.0}]


@pytest.mark.parametrize("command", [
    "join", "join --algorithm ppjoin", "join --unit char",
    "join --measure hamming --distance 12",
    "clusters", "clusters --method features",
])  # fmt: skip
def test_two_processes_come_to_the_same(call, texts, command):
    path, _ = texts
    verb, *options = command.split()
    one = call(verb, path, *options).stdout
    assert one == call(verb, path, *options, "--jobs", 2).stdout != ""


def test_it_says_how_many_pairs_were_compared(call, texts):
    path, _ = texts
    said = call("join", path, "--algorithm", "ppjoin", "--progress").stderr
    assert re.search(r"hits, \d+ candidates, 1 pairs", said)


@pytest.fixture
def book(tmp_path):
    """A page with three chapters, each of them as a page, and one with half a chapter more."""
    chapters = [" ".join(f"{name}{k}" for k in range(40)) for name in "xyz"]
    made = {
        **{f"http://site/{number}": text for number, text in enumerate(chapters)},
        "http://site/all": " ".join(chapters),
        "http://site/half": " ".join([*chapters[0].split(), *(f"h{k}" for k in range(20))]),
    }
    return written(tmp_path / "book.jsonl", made)


def test_pages_that_hold_others(call, rows, book):
    found = rows(call("join", book, "--measure", "containment", "--threshold", 1).stdout)
    assert [(row["a"][-1], row["b"][-4:], row["containment"]) for row in found] == [
        ("0", "/all", 1), ("0", "half", 1), ("1", "/all", 1), ("2", "/all", 1)
    ]  # fmt: skip
    found = rows(call("join", book, "--measure", "containment", "--threshold", 0.6).stdout)
    partly = [row for row in found if row["containment"] < 1]
    assert [(row["a"][-4:], row["b"][-4:]) for row in partly] == [
        ("half", "te/0"), ("half", "/all")
    ]  # fmt: skip
    assert all(row["containment"] == 37 / 57 for row in partly)


def test_a_sample_of_shingles_contains_the_sample_of_a_part(call, rows, book):
    contained = ("join", book, "--measure", "containment", "--threshold", 1)
    whole, sampled = (rows(call(*contained, "--modulus", each).stdout) for each in (1, 3))
    assert [row for row in sampled if row in whole] == whole
    assert call(*contained, "--modulus", 3, "--jobs", 2).stdout == "".join(
        json.dumps(row) + "\n" for row in sampled
    )


def test_containment_in_existing_pages(call, rows, book, tmp_path):
    new = written(tmp_path / "new.jsonl", {"quoted": " ".join(f"y{k}" for k in range(20))})
    options = ("--measure", "containment", "--threshold", 0.9)
    found = rows(call("join", new, "--existing", book, *options).stdout)
    assert [(row["a"], row["b"]) for row in found] == [
        ("quoted", "http://site/1"), ("quoted", "http://site/all")
    ]  # fmt: skip
    assert call("join", book, "--existing", new, *options).stdout == ""


def test_labelled_shingles_count_repetitions(call, rows, tmp_path):
    texts = {"long": "a rose is a rose is a rose", "short": "a rose is a rose"}
    path = written(tmp_path / "roses.jsonl", texts)
    options = ("--shingle-size", 3, "--threshold", 0.5)
    assert [row["resemblance"] for row in rows(call("join", path, *options).stdout)] == [1]
    found = rows(call("join", path, "--labelled", *options).stdout)
    assert [row["resemblance"] for row in found] == [3 / 6]


@pytest.mark.parametrize("unit", ["char", "line", "sentence"])
def test_other_units(call, tmp_path, rows, unit):
    texts = ["One two.\nThree four", "one two\nthree fours", "five! \n \n  three four "]
    path = written(tmp_path / "x.jsonl", dict(zip("abc", texts, strict=True)))
    size = 4 if unit == "char" else 1
    sets = {
        name: {tuple(units[k : k + size]) for k in range(len(units) - size + 1)}
        for name, units in zip("abc", (units_of(text, unit) for text in texts), strict=True)
    }
    pairs = {(a, b): resemblance(sets[a], sets[b]) for a, b in ("ab", "ac", "bc")}
    options = ("--unit", unit, "--shingle-size", size, "--threshold", 0.1, "--algorithm")
    for algorithm in ("bitmap", "all-pairs", "ppjoin+"):
        found = rows(call("join", path, *options, algorithm).stdout)
        assert {(row["a"], row["b"]): row["resemblance"] for row in found} == {
            pair: share for pair, share in pairs.items() if share >= 0.1
        }
