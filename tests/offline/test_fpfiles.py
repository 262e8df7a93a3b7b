import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fingerprint_sets import clustered
from pyarrow.parquet import write_table

from scrapy_neardup.errors import InputError, StoreMismatchError
from scrapy_neardup.judge.analysis import page_id
from scrapy_neardup.offline.files import fingerprintfiles
from scrapy_neardup.offline.files.fingerprintfiles import MAX_NAME, open_source
from scrapy_neardup.offline.files.sources import Chain
from scrapy_neardup.offline.readers.files import identity
from scrapy_neardup.stores.packfile import write_pieces
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.packed.packedindex import encode_index

COUNT = 700
RANDOM = np.random.default_rng(0)
FINGERPRINTS = clustered(RANDOM, COUNT)
PAGES = [f"http://x/é{place}" for place in range(COUNT)]


def write_raw(path):
    path = path.with_suffix(".u64")
    FINGERPRINTS.astype("<u8").tofile(path)
    return path, FINGERPRINTS, range(COUNT), None


def write_packed(path, *, named=True, schema=None):
    path = path.with_suffix(".pack")
    ids = np.array([page_id(page.encode()) for page in PAGES], np.uint64)
    known = {"ids": ids, "url": lambda place: PAGES[place].encode()} if named else {}
    design = cuts.nested(0, levels=(1,))
    with path.open("wb") as file:
        write_pieces(file, encode_index(FINGERPRINTS, design=design, schema=schema, **known))
    order = np.lexsort((ids, FINGERPRINTS)) if named else np.argsort(FINGERPRINTS)
    names = [PAGES[place] for place in order] if named else range(COUNT)
    return path, FINGERPRINTS[order], names, ids[order] if named else None


def write_json(path, *, compressed=False):
    rows = [
        {"page": page, "verdict": "new", "fingerprint": f"{fingerprint:016x}"}
        for page, fingerprint in zip(PAGES, FINGERPRINTS.tolist(), strict=True)
    ]
    rows[5:5] = [{"page": "shell", "verdict": "unjudged", "fingerprint": None}]
    text = "\n".join([*map(json.dumps, rows), "", ""]).encode()
    path = path.with_suffix(".jsonl.gz" if compressed else ".jsonl")
    path.write_bytes(gzip.compress(text, mtime=0) if compressed else text)
    return path, FINGERPRINTS, PAGES, [page_id(identity(page)) for page in PAGES]


def write_parquet(path, *, signed=False, named=True):
    columns = {"fingerprint": FINGERPRINTS.view(np.int64) if signed else FINGERPRINTS}
    ids = [page_id(identity(page)) for page in PAGES]
    if named:
        columns |= {"url": PAGES}
    path = path.with_suffix(".parquet")
    write_table(pa.table(columns), path, row_group_size=128)
    return path, FINGERPRINTS, PAGES if named else range(COUNT), ids if named else None


FORMATS = {
    "raw": write_raw,
    "packed": write_packed,
    "packed without names": lambda path: write_packed(path, named=False),
    "JSON lines": write_json,
    "JSON lines in gzip": lambda path: write_json(path, compressed=True),
    "Parquet": write_parquet,
    "Parquet of int64": lambda path: write_parquet(path, signed=True, named=False),
}


def same(found, expected):
    assert (found is None) == (expected is None)
    assert expected is None or list(found) == list(expected)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_its_rows(kind, tmp_path):
    path, fingerprints, names, ids = FORMATS[kind](tmp_path / "file")
    source = open_source(str(path))
    assert len(source) == COUNT
    for start, stop in ((0, COUNT), (0, 0), (127, 129), (128, 256), (5, 400), (699, 700)):
        assert source.fingerprints(start, stop).tolist() == fingerprints[start:stop].tolist()
        assert source.fingerprints(start, stop).dtype == np.uint64
        same(source.names(start, stop), names[start:stop])
    same(source.ids(), ids)
    rows = np.array([699, 3, 3, 200])
    assert source.names_of(rows) == [names[row] for row in rows]


@pytest.mark.parametrize("kind", FORMATS)
def test_parts_travel_to_other_processes(kind, tmp_path):
    path, fingerprints, *_ = FORMATS[kind](tmp_path / "file")
    parts = list(open_source(str(path)).parts(50, 200))
    assert [part.row for part in parts] == [50, 250, 450, 650]
    for part in parts:
        sent = pickle.dumps(part)
        assert len(sent) < 4000
        rows = slice(part.row, part.row + 200)
        assert pickle.loads(sent).read().tolist() == fingerprints[rows].tolist()


def test_a_file_that_changed_is_not_read_on(tmp_path):
    path, *_ = write_raw(tmp_path / "file")
    (part,) = open_source(str(path)).parts(0, COUNT)
    sent = pickle.dumps(part)
    FINGERPRINTS[:10].tofile(path)
    with pytest.raises(InputError, match="changed while it was read"):
        pickle.loads(sent)
    with pytest.raises(InputError, match="became shorter"):
        part.read()


def test_a_chain_numbers_rows_on(tmp_path):
    raw = open_source(str(write_raw(tmp_path / "a")[0]))
    named = open_source(str(write_json(tmp_path / "b")[0]))
    chain = Chain([raw, named, raw])
    assert len(chain) == 3 * COUNT
    whole = np.tile(FINGERPRINTS, 3)
    names = [*range(COUNT), *PAGES, *range(2 * COUNT, 3 * COUNT)]
    ranges = (0, 2100), (690, 710), (650, 1500), (1399, 1401), (700, 700), (2099, 2100)
    for start, stop in ranges:
        assert chain.fingerprints(start, stop).tolist() == whole[start:stop].tolist()
        assert list(chain.names(start, stop)) == names[start:stop]
    parts = list(chain.parts(600, 500))
    assert [part.row for part in parts] == [600, 700, 1200, 1400, 1900]
    assert np.concatenate([part.read() for part in parts]).tolist() == whole[600:].tolist()
    assert chain.ids() is None
    assert Chain([named, Chain([]), named]).ids().tolist() == 2 * named.ids().tolist()
    assert list(Chain([raw]).names(3, 5)) == [3, 4]
    assert len(Chain([])) == 0


def test_fingerprints_of_two_kinds_are_not_mixed(tmp_path):
    three = open_source(str(write_packed(tmp_path / "a", schema={"shingle_size": 3})[0]))
    four = open_source(str(write_packed(tmp_path / "b", schema={"shingle_size": 4})[0]))
    unknown = open_source(str(write_raw(tmp_path / "c")[0]))
    assert Chain([unknown, three, three]).schema == {"shingle_size": 3}
    with pytest.raises(StoreMismatchError, match=r"shingle_size \(3, 4\)"):
        Chain([three, unknown, four])


@pytest.mark.parametrize(
    "line",
    [
        *(b"{", b"[]", b"\xff", b"17", b'{"page": "x"}', b"[" * 100_000),
        b'{"fingerprint": "0123456789abcdef"}',
        b'{"page": "x", "fingerprint": "xyz"}',
        b'{"page": "x", "fingerprint": 12}',
        b'{"page": 3, "fingerprint": "0123456789abcdef"}',
    ],
)
def test_a_line_that_is_no_row_is_named(line, tmp_path):
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"page": "x", "fingerprint": null}\n\n' + line + b"\n")
    with pytest.raises(InputError, match=r"file.jsonl, line 3: "):
        open_source(str(path))


def test_files_that_cannot_be_used(tmp_path):
    def refused(name, content, message):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)

    refused("a.u64", bytes(17), "multiple of 8")
    refused("a.txt", b"hello", r"ends neither in \.u64")
    refused("a.jsonl.gz", gzip.compress(b"{}" * 500, mtime=0)[:-9], "ends too early")
    refused("a.pack", write_packed(tmp_path / "b")[0].read_bytes()[:-1], "cut short")
    with pytest.raises(InputError, match="No such file"):
        open_source(str(tmp_path / "missing.u64"))
    for name in ("empty.u64", "empty.jsonl"):
        (tmp_path / name).touch()
        assert len(open_source(str(tmp_path / name))) == 0


def read(path, **options):
    source = open_source(str(path), **options)
    return source.fingerprints(0, len(source))


def test_parquet_files_that_cannot_be_used(tmp_path):
    path = tmp_path / "file.parquet"

    def refused(message, column="fingerprint"):
        with pytest.raises(InputError, match=message) as caught:
            read(path, column=column)
        assert str(path) in str(caught.value)

    write_table(pa.table({"fingerprint": ["a"], "n": pa.array([None], pa.uint64())}), path)
    refused("64-bit integers, not string")
    refused("empty values", column="n")
    refused("--column", column="simhash")
    content = path.read_bytes()
    for length in (4, 100, len(content) - 1):
        path.write_bytes(content[:length])
        refused("can't be read as Parquet")


def test_memory_of_raw_files_is_not_that_of_the_file(tmp_path):
    path = tmp_path / "file.u64"
    with path.open("wb") as file:
        file.truncate(8 << 40)
    source = open_source(str(path))
    assert len(source) == 1 << 40
    assert next(iter(source.parts((1 << 40) - 3, 1 << 20))).read().tolist() == [0, 0, 0]


def _parquet(tmp_path, **columns):
    path = tmp_path / "bomb.parquet"
    columns = {name: pa.array(values) if isinstance(values, list) else values
               for name, values in columns.items()}  # fmt: skip
    write_table(pa.table(columns), path, compression="zstd", write_statistics=False,
                   use_dictionary="packed" in columns)  # fmt: skip
    return str(path)


@pytest.mark.parametrize("length", [MAX_NAME, 1_000_000])
def test_a_long_name_that_parquet_holds_once_is_held_once(tmp_path, length):
    """Of a megabyte, for 20,000 rows, in a file of 60 kB."""
    rows = 20_000
    names = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array(["a" * length]))
    path = _parquet(
        tmp_path, fingerprint=np.arange(rows, dtype=np.uint64), url=names, packed=names
    )
    assert Path(path).stat().st_size < 200_000
    source = open_source(path)
    if length <= MAX_NAME:
        assert len(set(map(id, source.names(0, rows)))) == 1
        return
    with pytest.raises(InputError, match="a name of 1,000,000 characters"):
        source.names(0, 1)


@pytest.mark.parametrize("value", ["a" * (1 << 13), [1 << 40] * (1 << 10)])
def test_a_column_that_is_too_long_to_be_read_whole_is_refused(tmp_path, value, monkeypatch):
    monkeypatch.setattr(fingerprintfiles, "MAX_COLUMN", 5_000_000)
    rows = 650
    path = _parquet(tmp_path, fingerprint=np.arange(rows, dtype=np.uint64), page=[value] * rows)
    column = "fingerprint" if isinstance(value, str) else "page"
    source = open_source(path, column=column)
    with pytest.raises(InputError, match=r"'page' takes 5.* smaller row groups"):
        source.names(0, 1) if column == "fingerprint" else source.fingerprints(0, 1)


def test_names_are_of_any_simple_kind(tmp_path):
    fingerprints = np.arange(3, dtype=np.uint64)
    path = _parquet(tmp_path, fingerprint=fingerprints, page=[7, None, 9])
    assert open_source(path).names(0, 3) == ["7", 1, "9"]
    damaged = pa.array([b"a\xff", None, "é".encode()])
    for column in (damaged, damaged.cast(pa.string(), safe=False), damaged.dictionary_encode()):
        path = _parquet(tmp_path, fingerprint=fingerprints, page=column)
        assert open_source(path).names(0, 3) == ["aÿ", 1, "é"]
    path = _parquet(tmp_path, fingerprint=fingerprints, page=pa.array([1, 2, 3], "timestamp[ns]"))
    with pytest.raises(InputError, match="can't be read as Parquet"):
        open_source(path).names(0, 3)
    path = _parquet(tmp_path, fingerprint=fingerprints, page=[{"a": 1}] * 3)
    assert list(open_source(path).names(1, 3)) == [1, 2]


def test_names_in_memory():
    strings = [b"", b"abc", b"", "é".encode(), b"x" * 1000]
    held = fingerprintfiles.Strings.of(strings)
    assert [[*held.between(start, 5)] for start in range(6)] == [strings[at:] for at in range(6)]


def test_names_in_very_many_files():
    """In quadratic time these took a minute."""
    names = [str(number) for number in range(20_000)]
    one = np.zeros(1, np.uint64)
    chain = Chain(
        [
            fingerprintfiles.ArraySource(one, fingerprintfiles.Strings.of([name.encode()]))
            for name in names
        ]
    )
    assert chain.names_of(np.arange(len(names))) == names
    assert list(chain.names(7, 7)) == []
    assert list(chain.names(len(names), len(names))) == []
