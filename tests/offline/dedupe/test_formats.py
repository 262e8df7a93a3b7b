"""What is kept is written in its own format, whole."""

import gzip
import json
from dataclasses import replace
from errno import ENOSPC
from io import BytesIO, FileIO
from itertools import accumulate, pairwise

import pyarrow as pa
import pytest
from datasets import documents, removed_of, tree, write_data_set, write_lines, write_parquet
from pyarrow.parquet import ParquetFile, read_table, write_table
from warcio.archiveiterator import ArchiveIterator
from warcs import html, warc

from scrapy_neardup.errors import ConfigurationError, InputError, OutputError
from scrapy_neardup.offline.dedupe import DedupeOptions, dedupe
from scrapy_neardup.offline.readers import files
from scrapy_neardup.offline.readers.namedcolumns import Columns

NAMED = DedupeOptions(columns=Columns(id="id"))


def test_all_columns_in_their_order(tmp_path):
    rows = write_data_set(tmp_path / "in")
    summary = dedupe([str(tmp_path / "in")], str(tmp_path / "out"), NAMED)
    removed = removed_of(tmp_path / "out")
    assert summary.documents == len(rows)
    assert 20 < len(removed) == summary.equal + summary.similar
    kept = read_table(tmp_path / "out/part-0.parquet").to_pylist()
    kept += map(json.loads, (tmp_path / "out/part-1.jsonl").read_text().splitlines())
    kept += read_table(tmp_path / "out/part-2.parquet").to_pylist()
    assert kept == [row for row in rows if row["id"] not in removed]
    for line in removed.values():
        assert rows[int(line["of"][2:])]["id"] == line["of"]
        assert f"/part-{int(line['of'][2:]) // 60}." in line["of_file"]
        assert line["of_row"] == int(line["of"][2:]) % 60
        assert line["row"] == int(line["id"][2:]) % 60


def test_schema_metadata_and_compression_stay(tmp_path):
    table = pa.Table.from_pylist(documents(40)).replace_schema_metadata({"who": "me"})
    write_table(table, tmp_path / "x.parquet", compression={"text": "zstd", "id": "none"})
    dedupe([str(tmp_path / "x.parquet")], str(tmp_path / "out"))
    found = ParquetFile(tmp_path / "out/x.parquet")
    assert found.schema_arrow.equals(table.schema, check_metadata=True)
    codecs = {
        column.path_in_schema: column.compression
        for column in map(found.metadata.row_group(0).column, range(6))
    }
    assert codecs["text"] == "ZSTD"
    assert codecs["id"] == "UNCOMPRESSED"


def test_lines_stay_as_they_are(tmp_path):
    text = json.dumps(" ".join(f"w{number}" for number in range(50)))
    lines = [f'{{"text" :  {text}}}\n', "\n", f'{{"n": 1, "text": {text}}}\n', '{"text": ""}']
    content = "".join(lines).encode()
    (tmp_path / "x.jsonl").write_bytes(content)
    (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress(content))
    (tmp_path / "z.json.zst").write_bytes(pa.compress(content, "zstd", asbytes=True))
    paths = [f"{tmp_path}/{name}" for name in ("x.jsonl", "y.jsonl.gz", "z.json.zst")]
    summary = dedupe(paths, f"file://{tmp_path}/out")
    assert (tmp_path / "out/x.jsonl").read_text() == lines[0] + lines[1] + lines[3]
    assert gzip.decompress((tmp_path / "out/y.jsonl.gz").read_bytes()) == b"\n" + lines[3].encode()
    with pa.CompressedInputStream(tmp_path / "out/z.json.zst", "zstd") as file:
        assert file.read() == b"\n" + lines[3].encode()
    assert (summary.kept, summary.equal) == (4, 5)
    (first,) = map(json.loads, (tmp_path / "out/_removed/x.jsonl.jsonl").read_text().splitlines())
    assert first["id"] == f"{tmp_path}/x.jsonl:3"
    assert first["of"] == f"{tmp_path}/x.jsonl:1"


@pytest.mark.parametrize("packed", [True, False])
def test_records_of_warc_files(tmp_path, packed):
    articles = [" ".join(f"{letter}{n}" for n in range(200)) for letter in "ab"]
    shown = "<!doctype html><title>{}</title><p>{}</p>"
    pages = [
        html(f"http://a.test/{n}", shown.format(n, articles[1 - n % 2]).encode())
        for n in (1, 2, 3)
    ]
    name = "x.warc.gz" if packed else "x.warc"
    (tmp_path / name).write_bytes(warc(*pages, compressed=packed))
    dedupe([str(tmp_path / name)], str(tmp_path / "out"))
    with (tmp_path / "out" / name).open("rb") as file:
        found = [
            (each.rec_type, each.rec_headers["WARC-Target-URI"]) for each in ArchiveIterator(file)
        ]
    asked = [("request", f"http://a.test/{number}") for number in (1, 2, 3)]
    kept = [("response", f"http://a.test/{number}") for number in (1, 2)]
    assert found == [("warcinfo", None), asked[0], kept[0], asked[1], kept[1], asked[2]]
    assert removed_of(tmp_path / "out")["http://a.test/3"]["of"] == "http://a.test/1"


@pytest.mark.parametrize("cuts", [(), (9,), (60, 600), (1100,), "records", "after the first"])
def test_members_of_gzip_that_are_no_records(tmp_path, cuts):
    """As bgzip writes them, or as files that were compressed whole are joined."""
    pages = [html(f"http://a.test/{n}", b"<p>a b c" + b"d" * (n // 2) * 300) for n in range(6)]
    records = [warc(page, compressed=False) for page in pages]
    content = b"".join(records)
    ends = [*accumulate(map(len, records))]
    places = {"records": ends[:-1], "after the first": ends[:1]}.get(cuts, cuts)
    parts = [content[at:end] for at, end in pairwise([0, *places, len(content)])]
    (tmp_path / "x.warc.gz").write_bytes(b"".join(map(gzip.compress, parts)))
    assert dedupe([f"{tmp_path}/x.warc.gz"], f"{tmp_path}/out").equal == 3
    written = gzip.decompress((tmp_path / "out/x.warc.gz").read_bytes())
    found = [each.rec_headers["WARC-Target-URI"] for each in ArchiveIterator(BytesIO(written))
             if each.rec_type == "response"]  # fmt: skip
    assert found == [f"http://a.test/{number}" for number in (0, 2, 4)]
    known = [line for line in content.splitlines() if b"<p>" in line]
    assert [line for line in written.splitlines() if b"<p>" in line] == known[::2]


def test_folders_of_html(tmp_path):
    words = " ".join(f"word{number}" for number in range(200))
    texts = {"a/1.html": words, "a/2.html": words + " end", "b.html": "else " * 9}
    for name, text in texts.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<!doctype html><title>x</title><p>{text}</p>")
    dedupe([str(tmp_path / "in")], str(tmp_path / "out"))
    written = tree(tmp_path / "out")
    assert {name for name in written if name.endswith(".html")} == {"a/1.html", "b.html"}
    assert written["b.html"] == (tmp_path / "in/b.html").read_bytes()


def test_addresses_of_fsspec(tmp_path):
    import fsspec

    write_parquet(tmp_path / "x.parquet", documents(60))
    memory = fsspec.filesystem("memory")
    memory.pipe("/in/x.parquet", (tmp_path / "x.parquet").read_bytes())
    try:
        summary = dedupe(["memory://in"], "memory://out", NAMED)
        dedupe([str(tmp_path / "x.parquet")], str(tmp_path / "out"), NAMED)
        assert summary.kept < 60
        assert memory.cat("/out/x.parquet") == (tmp_path / "out/x.parquet").read_bytes()
        assert not memory.exists("/out/_dedupe")
    finally:
        memory.rm("/in", recursive=True)
        memory.rm("/out", recursive=True)


def test_empty_files(tmp_path):
    empty = pa.table({"text": pa.array([], pa.string())})
    write_table(empty, tmp_path / "x.parquet")
    (tmp_path / "y.jsonl").touch()
    summary = dedupe([f"{tmp_path}/x.parquet", f"{tmp_path}/y.jsonl"], f"{tmp_path}/out")
    assert (summary.documents, summary.files) == (0, 2)
    assert read_table(tmp_path / "out/x.parquet").equals(empty)
    assert (tmp_path / "out/y.jsonl").read_bytes() == b""


def test_each_file_may_have_columns_of_its_own(tmp_path):
    rows = documents(30)
    write_parquet(tmp_path / "x.parquet", rows)
    write_parquet(tmp_path / "y.parquet", [{"more": 1, "text": row["text"]} for row in rows])
    dedupe([f"{tmp_path}/x.parquet", f"{tmp_path}/y.parquet"], f"{tmp_path}/out")
    found = ParquetFile(tmp_path / "out/y.parquet")
    assert found.schema_arrow.names == ["more", "text"]
    assert found.metadata.num_rows == 0


@pytest.mark.parametrize(
    ("keep", "key"),
    [
        ("first", lambda row: 0),
        ("shortest-url", lambda row: len(row["url"])),
        ("newest:metadata.date", lambda row: -int(row["metadata"]["date"].replace("-", ""))),
        ("score", lambda row: -row["score"]),
        ("-score", lambda row: row["score"]),
    ],
)
def test_which_is_kept(tmp_path, keep, key):
    rows = documents(100)
    write_parquet(tmp_path / "x.parquet", rows)
    options = DedupeOptions(columns=Columns(id="id"), keep=keep)
    dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/out", options)
    removed = removed_of(tmp_path / "out")
    place = {row["id"]: (key(row), number) for number, row in enumerate(rows)}
    assert removed
    assert all(place[line["of"]] < place[name] for name, line in removed.items())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2024-01-01T12:00+02:00", "2024-01-01T11:00Z"),
        ("2024-01-01T11:00", "2024-01-01T10:30-01:00"),
        ("2023-12-31T23:59Z", "20240101"),
        ("2023-12-31T22:00-01:00", "2024-01-01"),
        ("1704099600", "1704099600.5"),
        ("1712121230000", "1712121230001"),
        ("", "1"),
    ],
)
def test_the_newest_is_kept(tmp_path, old, new):
    """Whatever its zone; numbers, too, which are text in CSV."""
    for number, at in enumerate([(old, new), (new, old)]):
        path = tmp_path / f"{number}.csv"
        path.write_text("".join(f"{each}\n" for each in ("at,text", *(f"{x},a b c" for x in at))))
        dedupe([str(path)], f"{tmp_path}/out{number}", DedupeOptions(keep="newest:at"))
        assert (tmp_path / f"out{number}/{number}.csv").read_text() == f"at,text\n{new},a b c\n"


@pytest.mark.parametrize("keep", ["score", "-score"])
def test_a_score_that_is_missing_ranks_last(tmp_path, keep):
    (tmp_path / "x.csv").write_text("score,text\n,a b c\n-1,a b c\n,a b c\n")
    (tmp_path / "y.jsonl").write_text('{"score": null, "text": "a b c"}\n')
    paths = [f"{tmp_path}/x.csv", f"{tmp_path}/y.jsonl"]
    assert dedupe(paths, f"{tmp_path}/out", DedupeOptions(keep=keep)).kept == 1
    assert (tmp_path / "out/x.csv").read_text() == "score,text\n-1,a b c\n"


def test_the_longest_is_kept(tmp_path):
    words = [f"w{number}" for number in range(100)]
    rows = [{"text": " ".join(words[:size]), "id": str(size)} for size in (97, 100, 98)]
    write_lines(tmp_path / "x.jsonl", rows)
    dedupe([f"{tmp_path}/x.jsonl"], f"{tmp_path}/out",
           DedupeOptions(columns=Columns(id="id"), keep="longest"))  # fmt: skip
    assert {line["of"] for line in removed_of(tmp_path / "out").values()} == {"100"}


@pytest.mark.parametrize(
    "keep", ["", "a +", "__import__('os')", "1", "--a", "a b", "-" * 20_000 + "n"]
)
def test_rules_that_are_none(keep):
    with pytest.raises(ConfigurationError, match="keep must be") as raised:
        DedupeOptions(keep=keep)
    assert len(str(raised.value)) < 400


def test_existing_documents(tmp_path):
    rows = documents(120)
    for name, part in {"old": rows[:60], "new": rows[60:], "all": rows}.items():
        write_parquet(tmp_path / f"{name}.parquet", part)
    old = [f"{tmp_path}/old.parquet"]
    summary = dedupe([f"{tmp_path}/new.parquet"], f"{tmp_path}/out", NAMED, existing=old)
    assert (summary.existing, summary.documents) == (60, 60)
    assert not (tmp_path / "out/old.parquet").exists()
    dedupe([f"{tmp_path}/all.parquet"], f"{tmp_path}/both", NAMED)
    both = set(removed_of(tmp_path / "both"))
    assert set(removed_of(tmp_path / "out")) == both & {row["id"] for row in rows[60:]}


def test_any_type_is_written(tmp_path):
    views = pa.array(["a b", "a b", "c", "c", "d"], pa.string_view())  # pyarrow doesn't filter it
    write_table(pa.table({"text": views}), tmp_path / "x.parquet")
    dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/out")
    assert read_table(tmp_path / "out/x.parquet")["text"].to_pylist() == ["a b", "c", "d"]


@pytest.mark.parametrize("victim", ["000000.head", "x.parquet", "x.warc", "x.html"])
def test_a_full_disk_is_no_bad_input(tmp_path, monkeypatch, victim):
    class Full(FileIO):
        def write(self, _):
            raise OSError(ENOSPC, "No space left on device")

    def made(temporary, target):
        return Full(temporary, "xb") if target.name == victim else real(temporary, target)

    real = files._made
    write_parquet(tmp_path / "x.parquet", documents(9))
    page = "<!doctype html><p>"
    (tmp_path / "x.warc").write_bytes(
        warc(html("http://a.test/", page.encode() + b"a"), compressed=False)
    )
    (tmp_path / "x.html").write_text(page + "b")
    monkeypatch.setattr(files, "_made", made)
    inputs = [str(path) for path in sorted(tmp_path.iterdir(), reverse=True)]
    with pytest.raises(OutputError, match=r"out/.*: can't be written: No space left"):
        dedupe(inputs, f"{tmp_path}/out", DedupeOptions(skip_bad=True))


def test_half_a_file_elsewhere_is_none():
    with pytest.raises(TypeError), files.written("memory://half") as file:
        file.writelines([b"a", None])
    assert not files.exists("memory://half")


def test_outputs_that_are_none(tmp_path):
    for name in "xy":
        write_lines(tmp_path / f"{name}.jsonl", [{"text": "a"}])
    for inside in (tmp_path, tmp_path / "more"):
        with pytest.raises(ConfigurationError, match=r"out: is in .* which is an input"):
            dedupe([str(tmp_path)], str(inside / "out"))
    with pytest.raises(OutputError, match=r"x.jsonl/.*: can't be written: Not a directory"):
        dedupe([f"{tmp_path}/y.jsonl"], f"{tmp_path}/x.jsonl")


def test_what_is_left_out_of_a_folder_is_named(tmp_path, caplog):
    for name in ("x.jsonl", "a.csv", "info.json", ".hidden", "_more/b.csv"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    assert dedupe([f"{tmp_path}/in"], f"{tmp_path}/out").files == 1
    assert caplog.messages == [
        f"{tmp_path}/in: left out 2 files, by their names: 'a.csv', 'info.json'"
    ]


def test_what_is_missing_is_named(tmp_path):
    write_parquet(tmp_path / "x.parquet", [{"body": "a"}])
    write_lines(tmp_path / "y.jsonl", [{"text": "a"}])
    with pytest.raises(InputError, match=r'x.parquet: has no column "html" or "text" but body'):
        dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/out")
    ranked = DedupeOptions(keep="score", columns=Columns(text="body"))
    with pytest.raises(InputError, match=r'x.parquet: has no column "score" but body'):
        dedupe([f"{tmp_path}/x.parquet"], f"{tmp_path}/ranked", ranked)
    with pytest.raises(InputError, match=r'y.jsonl, line 1: has no "id"'):
        dedupe([f"{tmp_path}/y.jsonl"], f"{tmp_path}/two", NAMED)
    twice = pa.Table.from_arrays([pa.array(["a"])] * 2, ["text", "text"])
    write_table(twice, tmp_path / "z.parquet")
    with pytest.raises(InputError, match=r"z.parquet: has several columns of one name"):
        dedupe([f"{tmp_path}/z.parquet"], f"{tmp_path}/three")
    with pytest.raises(InputError, match=r'y.jsonl, line 1: has no "link"'):
        dedupe([f"{tmp_path}/y.jsonl"], f"{tmp_path}/four",
               DedupeOptions(columns=Columns(url="link")))  # fmt: skip


def test_what_cant_be_ranked(tmp_path):
    write_lines(tmp_path / "x.jsonl", [{"text": "a", "n": n} for n in ("0,1", 1)])
    options = DedupeOptions(keep="n", columns=Columns(text="text"))
    with pytest.raises(InputError, match=r"x.jsonl, row 1: can't be ranked by 'n': .*0,1"):
        dedupe([f"{tmp_path}/x.jsonl"], f"{tmp_path}/out", options)
    summary = dedupe([f"{tmp_path}/x.jsonl"], f"{tmp_path}/two", replace(options, skip_bad=True))
    assert (summary.kept, summary.equal, summary.bad_lines) == (1, 1, 1)
    assert json.loads((tmp_path / "two/x.jsonl").read_text())["n"] == 1
    write_lines(tmp_path / "long.jsonl", [{"text": "some words " * 1000}])
    with pytest.raises(InputError, match=r"'text': .{,100}$"):
        dedupe([f"{tmp_path}/long.jsonl"], f"{tmp_path}/three", replace(options, keep="text"))


@pytest.mark.parametrize("keep", ["n", "newest"])
@pytest.mark.parametrize("name", ["x.html", "x.txt", "x.warc"])
def test_pages_have_no_columns_to_be_ranked_by(tmp_path, name, keep):
    (tmp_path / name).write_bytes(warc(html("http://a.test/1", b"<p>a")))
    options = DedupeOptions(keep=keep)
    with pytest.raises(
        InputError, match=rf"{name}, row \d: can't be ranked by '{keep}': its form"
    ):
        dedupe([f"{tmp_path}/{name}"], f"{tmp_path}/out", options)
    summary = dedupe([f"{tmp_path}/{name}"], f"{tmp_path}/two", replace(options, skip_bad=True))
    assert (summary.kept, summary.bad_lines) == (1, 1)


def test_two_files_for_one_place(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        write_lines(tmp_path / folder / "x.jsonl", [{"text": "a"}])
    with pytest.raises(InputError, match=r"x.jsonl: 2 inputs would be written"):
        dedupe([f"{tmp_path}/a", f"{tmp_path}/b"], f"{tmp_path}/out")


def test_what_cant_be_read_is_left_out_and_counted(tmp_path):
    folder = tmp_path / "in"
    rows = write_data_set(folder)
    broken = (folder / "part-0.parquet").read_bytes()
    (folder / "half.parquet").write_bytes(broken[: len(broken) // 2])
    (folder / "half.jsonl.gz").write_bytes(gzip.compress(b'{"id": 1, "text": "a"}\n' * 99)[:-9])
    with (folder / "part-1.jsonl").open("a") as file:
        file.write("{no\n[]\n")
    with pytest.raises(InputError, match=r"half.jsonl.gz: its compressed data ends too early"):
        dedupe([str(folder)], str(tmp_path / "strict"), NAMED)
    options = DedupeOptions(columns=Columns(id="id"), skip_bad=True)
    summary = dedupe([str(folder)], str(tmp_path / "out"), options)
    assert (summary.documents, summary.bad_files, summary.bad_lines) == (len(rows), 2, 2)
    assert len(summary.skipped) == 2
    assert "{no" not in (tmp_path / "out/part-1.jsonl").read_text()
    assert not (tmp_path / "out/half.parquet").exists()
