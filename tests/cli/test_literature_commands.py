"""Figures and arms of the papers, by commands."""

import numpy as np
import pytest
from datasets import write_lines

from scrapy_neardup.fingerprints import token_hashes
from scrapy_neardup.fingerprints.independent import minima
from scrapy_neardup.fingerprints.shingles import distinct, shingle_hashes
from scrapy_neardup.offline.jobs.joining import Shingles


@pytest.fixture
def texts(tmp_path):
    base = [f"w{number}" for number in range(120)]
    made = [" ".join(base[:at] + ["new"] * 3 + base[at:]) for at in range(0, 120, 9)]
    made += ["alone here with some words", ""]
    rows = [{"url": f"http://a.test/{number}", "text": text} for number, text in enumerate(made)]
    write_lines(tmp_path / "x.jsonl", rows)
    return made


@pytest.mark.parametrize("count", [32, 84])
def test_the_arm_sp_of_table_2(call, rows, texts, count):
    found = rows(call("join", "x.jsonl", "--minima", count, "--threshold", 0.9).stdout)
    sketches = [
        minima(distinct(shingle_hashes(token_hashes(text), 4)), count) if text else None
        for text in texts
    ]
    wanted = {}
    for i, one in enumerate(sketches):
        for j, other in enumerate(sketches[:i]):
            same = 0 if one is None or other is None else int((one == other).sum())
            if same >= 0.9 * count:
                wanted[f"http://a.test/{j}", f"http://a.test/{i}"] = same / count
    assert len(wanted) > 3
    assert {(each["a"], each["b"]): each["resemblance"] for each in found} == wanted
    assert Shingles(minima=3)("")[1].tolist() == []
    call("join", "x.jsonl", "--minima", 9, "--measure", "dice", status=2)


def test_pairs_by_the_query(call, rows, tmp_path):
    values = np.random.default_rng(1).integers(0, 1 << 63, 50, dtype=np.uint64)
    near = values[:20] ^ np.uint64(5)
    values.tofile(tmp_path / "old.u64")
    np.concatenate([near, values[:3]]).tofile(tmp_path / "new.u64")
    asked = "pairs", "new.u64", "--existing", "old.u64"
    one = rows(call(*asked).stdout)
    grouped = rows(call(*asked, "--by-query").stdout)
    assert [
        (line["query"], page["page"], page["distance"])
        for line in grouped
        for page in line["pages"]
    ] == sorted((pair["a"], pair["b"], pair["distance"]) for pair in one)
    assert len(grouped) == 23
    values[:1].tofile(tmp_path / "one.u64")
    assert call("pairs", "one.u64", "--by-query").stdout == ""
