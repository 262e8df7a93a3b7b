import io
import json
import struct
import zlib
from functools import cache

import numpy as np
import pytest
from fingerprint_sets import clustered, uniform

from scrapy_neardup.errors import InputError
from scrapy_neardup.stores.packfile import MAGIC, VERSION, open_packed, read_packed, write_pieces
from scrapy_neardup.tables import cuts
from scrapy_neardup.tables.packed.packedindex import encode_index
from scrapy_neardup.tables.packed.rows import Unpacked


@cache
def packed(count=6, max_distance=0, *, named=True):
    fingerprints = clustered(np.random.default_rng(count), count, clusters=2, flips=1)
    file = io.BytesIO()
    size = write_pieces(
        file,
        encode_index(
            fingerprints,
            design=cuts.nested(max_distance, levels=(max_distance + 1,)),
            schema={"hash": "test"},
            ids=np.arange(count, dtype=np.uint64) if named else None,
            url=b"http://x/%d".__mod__ if named else None,
            records=records(count) if named else None,
        ),
    )
    assert size == len(file.getvalue())
    return file.getvalue(), fingerprints


def records(count):
    """Records of different lengths, and two columns of features: some none, some equal."""
    columns = (np.arange(count, dtype=np.uint64) % 4, np.arange(count, dtype=np.uint64) << 60)
    return Unpacked(
        {"kind": "test"}, lambda place: b"r" * (place % 3 * 40), columns.__getitem__, columns=2
    )


def near(index, key):
    return index.near(key, index.max_distance)


def everything(data):
    index = read_packed(data, "F")
    columns = [column.column(len(index)).tolist() for column in index.records.postings]
    fingerprints = index.fingerprints(0, len(index)).tolist()
    of_rows = [
        (near(index, index.fingerprint(row)), index.rows.page_id(row), index.rows.find_id(row),
         index.rows.url(row), index.records[row])
        for row in range(len(index))
    ]  # fmt: skip
    return fingerprints, of_rows, index.schema, columns


def test_every_flipped_byte_is_an_error():
    data, _ = packed()
    everything(data)
    random = np.random.default_rng(0)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(random.integers(8))
        with pytest.raises(InputError, match=r"^F: "):
            everything(bytes(damaged))


def test_a_damaged_byte_never_makes_a_wrong_answer():
    """An answer is right, or it is an error."""
    data, fingerprints = packed(40, 1, named=False)
    keys = fingerprints.tolist()
    right = [near(read_packed(data, "F"), key) for key in keys]
    failed = 0
    for place in range(16, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        try:
            index = read_packed(bytes(damaged), "F")
            assert [near(index, key) for key in keys] == right
        except InputError:
            failed += 1
    assert failed


def test_every_truncation_is_an_error():
    data, _ = packed()
    for length in range(len(data)):
        with pytest.raises(InputError, match=r"^F: "):
            read_packed(data[:length], "F")
    for extra in (b"\0", b"abcdefgh", data[-24:], data):
        with pytest.raises(InputError, match=r"^F: "):
            everything(data + extra)


def test_other_files_are_told_apart(tmp_path):
    path = tmp_path / "file"
    of_version = lambda number: MAGIC + number.to_bytes(4, "little") + bytes(100)
    others = (b"", b"P", b"<html>", b"\x93NUMPY" + bytes(100))
    for content, said in (
        *((other, "not a packed file") for other in others),
        (of_version(7), r"version 7.*upgrade"),
        (of_version(1), r"version 1, of an earlier release; pack .* again"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=said):
            open_packed(path)
    for place, said in ((tmp_path / "missing", "No such file"), (tmp_path, "directory")):
        with pytest.raises(InputError, match=said):
            open_packed(place)


def test_a_file_with_sound_checksums_of_another_program_or_in_another_code():
    index = list(encode_index(np.arange(9, dtype=np.uint64), design=cuts.nested(0, levels=(1,))))
    index[0][1].parameters["codec"] = "huffman"
    for pieces, message in (([], "another program"), (index, "'huffman' of its")):
        file = io.BytesIO()
        write_pieces(file, pieces)
        with pytest.raises(InputError, match=f"^F: .*{message}"):
            read_packed(file.getvalue(), "F")


@pytest.mark.parametrize("pieces", [[], {"rows": 1}, {"rows": {"parts": {"x": [16, 0, 0]}}}])
def test_a_sound_description_of_something_else_is_an_error(pieces):
    text = json.dumps({"pieces": pieces}).encode()
    tail = struct.pack("<QII8s", len(text), zlib.crc32(text), VERSION, MAGIC)
    with pytest.raises(InputError, match=r"^F: made by another program"):
        read_packed(struct.pack("<8sQ", MAGIC, VERSION) + text + tail, "F")


def test_records_and_features_are_those_of_their_pages():
    data, fingerprints = packed(5000, 0)
    index, given = read_packed(data, "F"), records(5000)
    columns = [column.column(5000) for column in index.records.postings]
    for row in range(0, 5000, 7):
        place = index.rows.page_id(row)
        assert index.fingerprint(row) == fingerprints[place]
        assert index.records[row] == given.record(place)
        assert [column[row] for column in columns] == [given.features(i)[place] for i in (0, 1)]
    # In the order of packing; 0 is none.
    found = index.records.postings[0].rows(3, 16)
    assert [index.rows.page_id(row) for row in found] == list(range(3, 67, 4))
    assert not index.records.postings[0].rows(0)
    assert index.records.shape == {"kind": "test"}


def test_sizes_of_the_parts_add_up():
    """Nothing but the sections, their checksums, the description and the frame."""
    count = 20_000
    fingerprints = uniform(np.random.default_rng(1), count)
    file = io.BytesIO()
    design = cuts.nested(3, levels=(5,))
    write_pieces(file, encode_index(fingerprints, design=design))
    assert len(file.getvalue()) * 8 / count / len(design.tables) < 64 - np.log2(count) + 2.8
