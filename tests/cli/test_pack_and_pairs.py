from pathlib import Path

import numpy as np
import pytest
from datasets import write_lines
from fingerprint_sets import clustered, self_pairs
from pyarrow.parquet import read_table

FINGERPRINTS = clustered(np.random.default_rng(0), 300)


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "file.u64"
    FINGERPRINTS.tofile(path)
    return path


@pytest.fixture
def verdicts(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    found = enumerate(FINGERPRINTS.tolist())
    write_lines(
        path, [{"page": f"http://x/{n}", "fingerprint": f"{each:016x}"} for n, each in found]
    )
    return path


@pytest.mark.parametrize("options", [(), ("--max-distance", 0)])
def test_what_is_packed_is_unpacked_in_its_order(call, raw, tmp_path, options):
    call("pack", raw, "--output", "file.pack", *options)
    call("unpack", "file.pack", "--output", "out.u64")
    unpacked = np.fromfile(tmp_path / "out.u64", "<u8")
    assert unpacked.tolist() == np.sort(FINGERPRINTS).tolist()
    assert call("unpack", "file.pack").stdout_bytes == unpacked.tobytes()
    packed = (tmp_path / "file.pack").read_bytes()
    assert call("unpack", "-", stdin=packed).stdout_bytes == unpacked.tobytes()
    assert call("pack", raw, "--output", "-", *options).stdout_bytes == packed


def test_names_and_ids_are_packed_too(call, rows, verdicts):
    call("pack", verdicts, "--output", "named.pack")
    found = rows(call("unpack", "named.pack", "--format", "jsonl").stdout)
    assert {row["page"]: row["fingerprint"] for row in found} == {
        f"http://x/{place}": f"{fingerprint:016x}"
        for place, fingerprint in enumerate(FINGERPRINTS.tolist())
    }
    assert len({row["page_id"] for row in found}) == len(found)
    call("pack", "named.pack", "--output", "again.pack")
    assert rows(call("unpack", "again.pack", "--format", "jsonl").stdout) == found
    call("pack", verdicts, "--no-urls", "--output", "ids.pack")
    nameless = rows(call("unpack", "ids.pack", "--format", "jsonl").stdout)
    assert [row["page_id"] for row in nameless] == [row["page_id"] for row in found]
    assert {row["page"] for row in nameless} == {None}


@pytest.mark.parametrize("options", [
    (),
    ("--preset", "compact"),
    ("--method", "minwise", "--min-resemblance", 0),
    ("--min-tokens", 1000),
])  # fmt: skip
def test_what_scan_prints_of_a_page_is_packed_too(call, rows, site, options):
    (site / "short.html").write_text("<p>no more than these six words</p>")
    call("scan", "site", *options, "--output", "scan.jsonl")
    call("pack", "scan.jsonl", "--output", "base.pack")
    scanned = {row["page"]: row for row in rows(Path("scan.jsonl").read_text())}
    found = rows(call("unpack", "base.pack", "--format", "jsonl").stdout)
    assert len(found) == 10
    for row in found:
        known = scanned[row["page"]]
        assert {key: known[key] for key in row if key != "page_id"} == {
            key: row[key] for key in row if key != "page_id"
        }
        assert {"features", "path", "sketch", "schema"} <= row.keys()
    call("pack", "base.pack", "--output", "again.pack")
    assert rows(call("unpack", "again.pack", "--format", "jsonl").stdout) == found
    call("pack", "base.pack", "scan.jsonl", "--output", "twice.pack")
    assert len(rows(call("unpack", "twice.pack", "--format", "jsonl").stdout)) == 20
    call("pack", "base.pack", "--no-sketches", "--output", "bare.pack")
    [keys] = {tuple(row) for row in rows(call("unpack", "bare.pack", "--format", "jsonl").stdout)}
    assert keys == ("page", "page_id", "fingerprint")


def test_inputs_of_different_sketches_are_refused(call, site):
    call("scan", "site", "--output", "best.jsonl")
    call("scan", "site", "--preset", "compact", "--output", "compact.jsonl")
    call("pack", "best.jsonl", "--output", "best.pack")
    for inputs in (("best.jsonl", "compact.jsonl"), ("best.pack", "compact.jsonl")):
        result = call("pack", *inputs, "--output", "x", status=2)
        assert "can't be compared: of their features and sketches" in result.stderr
    mixed = Path("best.jsonl").read_text() + Path("compact.jsonl").read_text()
    result = call("pack", "-", "--output", "x", stdin=mixed, status=2)
    assert "-, line 10: its features or sketch aren't what scan prints" in result.stderr
    # Fingerprints alone can be packed together, as they are comparable.
    call("pack", "-", "--no-sketches", "--output", "x", stdin=mixed)


def test_pairs_are_those_of_brute_force(call, rows, raw, verdicts, tmp_path):
    found = rows(call("pairs", raw).stdout)
    assert {(row["a"], row["b"], row["distance"]) for row in found} == self_pairs(FINGERPRINTS, 3)
    named = rows(call("pairs", "-", stdin=verdicts.read_bytes()).stdout)
    assert [(row["a"], row["b"]) for row in named] == [
        (f"http://x/{row['a']}", f"http://x/{row['b']}") for row in found
    ]
    for source, expected in ((raw, found), (verdicts, named)):
        call("pairs", source, "--output", "pairs.parquet", "--jobs", 2)
        assert read_table(tmp_path / "pairs.parquet").to_pylist() == expected


def test_new_pages_against_existing_ones(call, rows, raw, verdicts, tmp_path):
    (FINGERPRINTS[:5] ^ np.uint64(1)).tofile(tmp_path / "new.u64")
    call("pack", verdicts, "--output", "base.pack")
    found = rows(call("pairs", "new.u64", "--existing", "base.pack", "--existing", raw).stdout)
    for row in range(5):
        others = {pair["b"]: pair["distance"] for pair in found if pair["a"] == row}
        assert others[f"http://x/{row}"] == 1
        assert others[300 + row] == 1


def test_nothing_is_written_where_something_fails(call, raw, tmp_path):
    """Neither half of a file, nor over what was there."""
    target = tmp_path / "out"
    target.write_text("old")
    np.full(100, 7, np.uint64).tofile(tmp_path / "equal.u64")
    result = call("pairs", "equal.u64", "--max-pairs", 10, "--output", "out", status=2)
    assert "--max-pairs 10" in result.stderr
    assert "--group-equal" in result.stderr
    call("pack", raw, "--output", "good.pack")
    damaged = bytearray((tmp_path / "good.pack").read_bytes())
    damaged[40] ^= 1
    (tmp_path / "damaged.pack").write_bytes(damaged)
    for arguments in (
        ("unpack", "damaged.pack", "--output", "out"),
        ("pairs", "damaged.pack", "--output", "out"),
        ("pairs", raw, "--existing", "damaged.pack", "--output", "out"),
        ("pack", "damaged.pack", "--output", "out"),
    ):
        assert "damaged.pack: damaged" in call(*arguments, status=2).stderr
    assert target.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_raw_files_have_no_lines(call, raw):
    call("pack", raw, "--output", "file.pack")
    refused = call("unpack", "file.pack", "--format", "jsonl", status=2)
    assert "neither page ids nor names" in refused.stderr


def test_lines_of_an_earlier_version_are_refused(call, rows, site):
    call("scan", "site", "--output", "scan.jsonl")
    earlier = [row | {"evidence": "0" * 16} for row in rows(Path("scan.jsonl").read_text())]
    write_lines(Path("earlier.jsonl"), earlier)
    result = call("pack", "--output", "x", "earlier.jsonl", status=2)
    assert "earlier.jsonl, line 1: " in result.stderr
    assert "an earlier version printed it: scan the pages again" in result.stderr
