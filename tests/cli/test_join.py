import json

import pytest

from scrapy_neardup.joins import resemblance


def shingle_set(text, size=4):
    words = text.split()
    return {tuple(words[k : k + size]) for k in range(len(words) - size + 1)}


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
    path = tmp_path / "pages.jsonl"
    path.write_text(
        "".join(json.dumps({"url": url, "text": text}) + "\n" for url, text in made.items())
    )
    return path, made


def expected(made, threshold):
    urls = list(made)
    measured = {
        (a, b): resemblance(shingle_set(made[a]), shingle_set(made[b]))
        for k, a in enumerate(urls)
        for b in urls[k + 1 :]
    }
    return {pair: value for pair, value in measured.items() if value >= threshold}


@pytest.mark.parametrize("threshold", [0.3, 0.8, 0.9])
def test_pairs_and_their_resemblance(call, rows, texts, threshold):
    path, made = texts
    found = rows(call("join", path, "--threshold", threshold).stdout)
    assert {(row["a"], row["b"]): row["resemblance"] for row in found} == expected(made, threshold)
    assert expected(made, 0.3).keys() > expected(made, 0.9).keys()


def test_a_folder_without_templates(call, rows, site):
    found = rows(call("join", site, "--threshold", 1).stdout)
    names = [(row["a"].rsplit("/")[-1], row["b"].rsplit("/")[-1]) for row in found]
    assert names == [(f"{k}a.html", f"{k}b.html") for k in range(3)]
    everything = call("join", site, "--threshold", 1, "--text", "full", "--shingle-size", 1)
    assert everything.stdout == ""


def test_against_existing_pages(call, rows, texts, tmp_path):
    path, _ = texts
    new = tmp_path / "new.jsonl"
    new.write_text(json.dumps({"url": "http://new", "text": " ".join(f"v{k}" for k in range(60))}))
    found = rows(call("join", new, "--existing", path).stdout)
    assert found == [{"a": "http://new", "b": "http://site/other", "resemblance": 1.0}]


def test_other_measures(call, rows, texts):
    path, _ = texts
    found = rows(call("join", path, "--measure", "overlap", "--threshold", 55).stdout)
    assert [(row["a"], row["b"], row["overlap"]) for row in found] == [
        ("http://site/a", "http://site/b", 55)
    ]
    found = rows(call("join", path, "--measure", "cosine", "--threshold", 0.96).stdout)
    assert [round(row["cosine"], 4) for row in found] == [0.9649]


def test_output_is_all_or_nothing(call, texts, tmp_path):
    path, _ = texts
    out = tmp_path / "pairs.jsonl"
    call("join", path, "--output", out)
    before = out.read_text()
    assert json.loads(before)["b"] == "http://site/b"
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "fine"}\nnothing\n')
    assert "broken.jsonl, line 2" in call("join", broken, "--output", out, status=2).stderr
    assert out.read_text() == before


def test_bad_thresholds_are_said_before_anything_is_read(call):
    broken = ("-", "--threshold", "nan")
    for verb in ("join", "clusters"):
        assert "must be a number above 0" in call(verb, *broken, stdin="{", status=2).stderr
    options = ("--measure", "overlap", "--threshold", "1e30")
    assert call("join", "-", *options, stdin='{"text": "a b c d e"}\n' * 2).stdout == ""


def test_bad_thresholds(call, texts):
    path, _ = texts
    for threshold in ("nan", "0", "1.5"):
        result = call("join", path, "--threshold", threshold, status=2)
        assert "jaccard threshold must be a number above 0" in result.stderr
    result = call("join", path, "--measure", "overlap", "--threshold", "0.5", status=2)
    assert "overlap threshold must be a whole number" in result.stderr
    assert "missing" in call("join", "missing.jsonl", status=2).stderr
