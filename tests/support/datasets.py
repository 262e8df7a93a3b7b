"""Data sets of made-up documents, some of which repeat others."""

import csv
import gzip
import io
import json
import random

import pyarrow as pa
import pyarrow.ipc
from pyarrow.feather import write_feather
from pyarrow.parquet import write_table


def documents(count, seed=1, words=80):
    """Documents: new ones, copies, and copies with one word in 40 replaced."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        kind = chance.choice(["new", "new", "copy", "near"]) if made else "new"
        text = [f"w{chance.randrange(4000)}" for _ in range(words)]
        if kind != "new":
            text = chance.choice(made)["text"].split()
            for _ in range(len(text) // 40 if kind == "near" else 0):
                text[chance.randrange(len(text))] = f"v{chance.randrange(4000)}"
        made.append({
            "text": " ".join(text), "id": f"{seed}-{number}",
            "url": f"http://{'a' * chance.randrange(9)}.test/{number}",
            "metadata": {"date": f"2020-01-{1 + chance.randrange(28):02}", "kind": kind},
            "score": chance.randrange(5),
        })  # fmt: skip
    return made


def shingle_set(text, size=4):
    words = text.split()
    return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}


def write_parquet(path, rows, **options):
    write_table(pa.Table.from_pylist(rows), path, **options)


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_lines(path, rows):
    content = json_lines(rows).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def stream(rows, new=pa.ipc.new_stream):
    table, target = pa.Table.from_pylist(rows), io.BytesIO()
    with new(target, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return target.getvalue()


def table_of(rows, delimiter=","):
    target = io.StringIO()
    writer = csv.DictWriter(target, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return target.getvalue().encode()


def parquet(rows):
    write_table(pa.Table.from_pylist(rows), target := io.BytesIO(), row_group_size=2)
    return target.getvalue()


def feather(rows):
    write_feather(pa.Table.from_pylist(rows), target := io.BytesIO())
    return target.getvalue()


FILES = {
    "x.jsonl": lambda rows: json_lines(rows).encode(),
    "x.json": lambda rows: json.dumps(rows, indent=1, ensure_ascii=False).encode(),
    "y.json": lambda rows: json_lines(rows).encode(),
    "x.csv": table_of,
    "x.tsv": lambda rows: table_of(rows, "\t"),
    "x.parquet": parquet,
    "x.arrow": stream,
    "y.arrow": lambda rows: stream(rows, pa.ipc.new_file),
    "x.feather": feather,
}
"""Name -> the file of rows."""


def write_data_set(folder, *, files=3, per_file=60):
    """Parquet files and lines; return their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = documents(files * per_file)
    for number in range(files):
        part = rows[number * per_file : (number + 1) * per_file]
        if number % 2:
            write_lines(folder / f"part-{number}.jsonl", part)
        else:
            write_parquet(folder / f"part-{number}.parquet", part, row_group_size=25)
    return rows


def tree(folder):
    """All files of a folder, and what they hold."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def removed_of(output):
    """The lines that a job of deduplication wrote of what it removed, by their ids."""
    return {
        line["id"]: line
        for path in (output / "_removed").rglob("*.jsonl")
        for line in map(json.loads, path.read_text().splitlines())
    }


class KilledError(Exception):
    """What stands for a kill."""


def killed_before(left, real):
    """Return a function that does as the real one, until `left` calls are made: a kill."""
    left = iter(range(left))

    def counted(*arguments):
        if next(left, None) is None:
            raise KilledError
        return real(*arguments)

    return counted
