"""Arrow and Parquet files with unusual types, dictionaries and damage."""

import io
from base64 import b64encode
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest
from pyarrow.parquet import ParquetWriter, read_table, write_table
from pyarrow.parquet.encryption import (
    CryptoFactory,
    EncryptionConfiguration,
    KmsClient,
    KmsConnectionConfig,
)

from scrapy_neardup.errors import InputError, OutputError
from scrapy_neardup.offline.dedupe import DedupeOptions, TrimOptions, dedupe, trim
from scrapy_neardup.offline.files.fingerprintfiles import open_source
from scrapy_neardup.offline.jobs.scanning import texts as read_texts
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.namedcolumns import Columns


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.time64("ns"),
                                  pa.duration("ns")])  # fmt: skip
def test_times_in_nanoseconds(tmp_path, kind):
    """As pandas writes them; Python's own have microseconds."""
    times = pa.array([1_577_836_800_001, 1_577_836_900_002], pa.int64()).cast(kind)
    table = pa.table({"text": ["a b c"] * 2, "at": times})
    write_table(table, tmp_path / "x.parquet")
    pa.feather.write_feather(table, tmp_path / "x.feather")
    for name in ("x.parquet", "x.feather"):
        found = [each.id for each in Corpus([f"{tmp_path}/{name}"], Columns(id="at"))]
        assert ["26:17.836800" in found[0], "26:17.836900" in found[1]] == [True, True]
        if pa.types.is_timestamp(kind):
            output = f"{tmp_path}/out-{name}"
            dedupe([f"{tmp_path}/{name}"], output, DedupeOptions(keep="newest:at"))
            (kept,) = [each.row for each in Corpus([f"{output}/{name}"], Columns(others=("at",)))]
            assert kept == 0
            (row,) = [
                each.values for each in Corpus([f"{output}/{name}"], Columns(others=("at",)))
            ]
            assert row["at"].microsecond == 836_900


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(75),
                                  pa.dictionary(pa.int32(), pa.binary())])  # fmt: skip
def test_html_in_bytes_declares_its_encoding(tmp_path, kind):
    page = '<meta charset="iso-8859-2"><p>żółć, gęślą jaźń, zażółć, źdźbło, ćma</p>'
    stored = pa.array([page.encode("iso-8859-2").ljust(75)]).cast(pa.binary())
    is_dictionary = pa.types.is_dictionary(kind)
    column = stored.dictionary_encode() if is_dictionary else pa.array(stored.to_pylist(), kind)
    table = pa.table({"html": column})
    write_table(table, tmp_path / "x.parquet")
    pa.feather.write_feather(table, tmp_path / "x.feather")
    for name in ("x.parquet", "x.feather"):
        ((_, text),) = read_texts(Corpus([f"{tmp_path}/{name}"]))
        assert text.strip() == "żółć, gęślą jaźń, zażółć, źdźbło, ćma"


def test_a_dictionary_of_string_views_is_cut(tmp_path):
    """As polars writes categories."""
    values = pa.array(["shared\nown", "shared\nother"]).cast(pa.string_view())
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.uint32()), values)
    table = pa.table({"text": column})
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    trim([f"{tmp_path}/x.arrow"], f"{tmp_path}/out", TrimOptions(unit="lines", number=2))
    with pa.ipc.open_file(str(tmp_path / "out/x.arrow")) as reader:
        assert reader.schema.field("text").type == column.type
        assert reader.read_all()["text"].to_pylist() == ["own", "other", None, "own"]


def strings(*offsets):
    """A column of bytes that aren't Unicode, with any offsets."""
    places = b"".join(offset.to_bytes(4, "little") for offset in offsets)
    return pa.StringArray.from_buffers(len(offsets) - 1, *map(pa.py_buffer, (places, b"a\xff")))


def coded(*indices, values):
    return pa.DictionaryArray.from_arrays(pa.array(indices), values, safe=False)


def texts(path, column):
    return [each.text for each in Corpus([str(path)], Columns(text=column))]


def inside(column):
    return pa.StructArray.from_arrays([strings(0, 1, 2), column], ["own", "text"])


@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
@pytest.mark.parametrize(("name", "column", "found"), [
    ("text", strings(0, 1, 2), "aÿ"),
    ("text", coded(1, 0, values=strings(0, 1, 2)), "ÿa"),
    ("x.text", inside(strings(0, 1, 2)), "aÿ"),
    ("text", coded(0, 7, values=strings(0, 1, 2)), None),
    ("text", strings(0, 1 << 30, 2), None),
    ("text", coded(1, 0, values=strings(0, 1 << 30, 2)), None),
    ("x.text", inside(strings(0, 1 << 30, 2)), None),
    ("x.text", inside(coded(0, 7, values=strings(0, 1, 2))), None),
])  # fmt: skip
def test_damaged_places_of_values_are_an_error(tmp_path, new, name, column, found):
    """pyarrow would read whatever is there in memory, or end the process."""
    batch = pa.record_batch([column], [name.partition(".")[0]])
    with new(str(tmp_path / "x.arrow"), batch.schema) as file:
        file.write_batch(batch)
    if found:
        assert texts(tmp_path / "x.arrow", name) == [*found]
        return
    with pytest.raises(InputError, match=r"x.arrow: can't be read as Arrow"):
        texts(tmp_path / "x.arrow", name)


def test_a_dictionary_that_an_arrow_file_can_not_have_is_named(tmp_path):
    """Each batch has a dictionary of its own, once it is cut."""
    table = pa.table({"text": pa.array(["shared\nown", "shared\nother"]).dictionary_encode()})
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    with pytest.raises(OutputError, match=r"x.arrow: can't be written in its own format: Dict"):
        trim([f"{tmp_path}/x.arrow"], f"{tmp_path}/out", TrimOptions(unit="lines", number=1))
    assert dedupe([f"{tmp_path}/x.arrow"], f"{tmp_path}/all").kept == 2


RUNS = pa.RunEndEncodedArray.from_arrays([1, 2], ["shared\nown", "shared\nnew"])


@pytest.mark.parametrize(("name", "column"), [
    *((name, pa.array([b"shared\nown", b"shared\nnew"], pa.binary(10)))
      for name in ("x.parquet", "x.arrow")),
    ("x.arrow", RUNS),
    ("x.arrow", pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [RUNS.values])),
])  # fmt: skip
def test_texts_of_types_that_can_not_be_written_are_marked_and_not_cut(tmp_path, name, column):
    table = pa.table({"text": column})
    (write_table if name == "x.parquet" else pa.feather.write_feather)(table, tmp_path / name)
    options = TrimOptions(unit="lines", number=1)
    with pytest.raises(OutputError, match=f"{name}: can't be written in its own format"):
        trim([f"{tmp_path}/{name}"], f"{tmp_path}/out", options)
    assert (
        trim([f"{tmp_path}/{name}"], f"{tmp_path}/marked", replace(options, mark=True)).trimmed
        == 2
    )


class _Keys(KmsClient):
    wrap_key = staticmethod(lambda key, _: b64encode(key))


def test_encrypted_columns_are_named(tmp_path):
    """pyarrow would end the process."""
    factory = CryptoFactory(lambda _: _Keys())
    for name, is_plain in (("footer", False), ("columns", True)):
        how = EncryptionConfiguration("a", column_keys={"b": ["text"]}, plaintext_footer=is_plain)
        secret = factory.file_encryption_properties(KmsConnectionConfig(), how)
        table = pa.table({"text": ["a b c"], "fingerprint": pa.array([1], pa.uint64())})
        write_table(table, tmp_path / f"{name}.parquet", encryption_properties=secret)
        for read in (partial(texts, column="text"), open_source):
            with pytest.raises(InputError, match=rf"{name}.parquet: .*(encrypted|not a packed)"):
                read(f"{tmp_path}/{name}.parquet")


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_times_that_python_has_not_are_text(tmp_path, name):
    """Databases write the date `infinity` so."""
    days = pa.array([20_000, (1 << 31) - 1, None], pa.date32())
    table = pa.table({"text": ["a b c"] * 3, "day": days, "days": [[each] for each in days]})
    (write_table if name == "x.parquet" else pa.feather.write_feather)(table, tmp_path / name)
    paths = [f"{tmp_path}/{name}"]
    found = [each.id for each in Corpus(paths, Columns(id="day"))]
    assert found == ["2024-10-04", f"<value out of range: {(1 << 31) - 1}>", None]
    with pytest.raises(InputError, match="can't be ranked by 'newest:day': Invalid isoformat"):
        dedupe(paths, f"{tmp_path}/out", DedupeOptions(keep="newest:day"))
    options = DedupeOptions(keep="newest:day", skip_bad=True)
    summary = dedupe(paths, f"{tmp_path}/kept", options)
    assert (summary.bad_lines, [each.row for each in Corpus([f"{tmp_path}/kept/{name}"])]) == (
        1,
        [0],
    )
    if name == "x.arrow":
        with pytest.raises(InputError, match=r"x.arrow: .*Unsupported cast"):
            [*Corpus(paths, Columns(id="days"))]


def test_what_follows_an_arrow_stream_is_named(tmp_path):
    table = pa.table({"text": ["a", "b"]})
    with pa.ipc.new_stream(str(tmp_path / "x.arrow"), table.schema) as file:
        file.write_table(table)
    content = (tmp_path / "x.arrow").read_bytes()
    (tmp_path / "x.arrow").write_bytes(content * 2)  # as `cat` joins files
    with pytest.raises(InputError, match=r"x.arrow: .*there is more after the end"):
        texts(tmp_path / "x.arrow", "text")
    (tmp_path / "x.arrow").write_bytes(content[:-8])  # without the mark of its end
    assert texts(tmp_path / "x.arrow", "text") == ["a", "b"]


def test_metadata_that_is_not_in_the_schema_is_kept(tmp_path):
    """As polars writes its own."""
    table = pa.table({"text": ["a b c"] * 2}).replace_schema_metadata({"a": "1"})
    with ParquetWriter(tmp_path / "x.parquet", table.schema) as file:
        file.write_table(table)
        file.add_key_value_metadata({"b": "2"})
    assert dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/out").equal == 1
    assert read_table(tmp_path / "out/x.parquet").schema.metadata == {b"a": b"1", b"b": b"2"}


def test_checksums_of_parquet_are_checked(tmp_path):
    """Spark writes them."""
    table = pa.table({"text": ["some words", "other words"]})
    write_table(table, target := io.BytesIO(), compression="none", write_page_checksum=True)
    (tmp_path / "x.parquet").write_bytes(
        target.getvalue().replace(b"some words", b"same words", 1)
    )
    with pytest.raises(InputError, match=r"x.parquet: .*CRC"):
        texts(tmp_path / "x.parquet", "text")
