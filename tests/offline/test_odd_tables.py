"""Arrow and Parquet files with unusual types, dictionaries and damage."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest
from pyarrow.parquet import write_table

from scrapy_neardup.errors import InputError, OutputError
from scrapy_neardup.offline.dedupe import DedupeOptions, TrimOptions, dedupe, trim
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
    ("text", strings(0, 1, 2), "a?"),
    ("text", coded(1, 0, values=strings(0, 1, 2)), "?a"),
    ("x.text", inside(strings(0, 1, 2)), "a?"),
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


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_texts_of_one_length_are_marked_and_not_cut(tmp_path, name):
    table = pa.table({"text": pa.array([b"shared\nown", b"shared\nnew"], pa.binary(10))})
    (write_table if name == "x.parquet" else pa.feather.write_feather)(table, tmp_path / name)
    options = TrimOptions(unit="lines", number=1)
    with pytest.raises(OutputError, match=f"{name}: can't be written in its own format"):
        trim([f"{tmp_path}/{name}"], f"{tmp_path}/out", options)
    assert (
        trim([f"{tmp_path}/{name}"], f"{tmp_path}/marked", replace(options, mark=True)).trimmed
        == 2
    )
