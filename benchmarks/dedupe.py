"""`scrapy-neardup dedupe` on Parquet files, and five other tools on the same ones.

Documents are put together from passages of real pages (folders of HTML), and written to DATA if it
isn't there: 55 % are new, 15 % repeat an earlier one word for word, 20 % with 1 % of the words
replaced, 10 % with 20 % of them, which is below any usual threshold. Their metadata say the
``kind`` and the ``source``. Processor time and memory are those of all processes of a run: the
sums, and the largest sum at once. With ``--exact`` all documents are joined:
precision is the share of the removed ones that have an earlier one at .9 or above by all word
4-shingles, recall that of these that are removed.

    python benchmarks/dedupe.py DATA --pages DIR... --documents 200000 [--memory 256MB ...]
        [--jobs 1 2] [--datatrove PYTHON] [--text-dedup PYTHON] [--rensa PYTHON]
        [--datasketch PYTHON] [--gaoya PYTHON] [--exact]

PYTHON is the interpreter of an environment that has the package and pyarrow (and spacy, tokenizers
and xxhash below 4, for datatrove).
"""

import json
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, permutations, product
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

import pyarrow as pa
from harness import arguments, html_files, scratch
from pyarrow import ipc
from pyarrow.parquet import ParquetWriter, read_table

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.execution import ALONE
from scrapy_neardup.offline.jobs.joining import HashSets, Pages, Shingles, join_sets
from scrapy_neardup.offline.readers.corpus import Corpus
from scrapy_neardup.offline.readers.namedcolumns import Columns
from scrapy_neardup.text import Extractor, parse_html

KINDS = {"new": 0.55, "copy": 0.15, "near": 0.2, "far": 0.1}
REPLACED = {"copy": 0.0, "near": 0.01, "far": 0.2}
PASSAGE, PASSAGES = 60, (1, 10)
RECENT = 20_000
"""Number of earlier documents from which repeated ones are drawn."""
PER_FILE, PER_BATCH = 50_000, 5_000
OURS = Path(sys.executable).with_name("scrapy-neardup")
DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter

data, work, output, files = *sys.argv[1:4], int(sys.argv[4])
config = MinhashConfig(n_grams=4, num_buckets=8, hashes_per_bucket=8)
def reader():
    return ParquetReader(data)
steps = [
    ([reader(), MinhashDedupSignature(f"{work}/signatures", config)], files),
    ([MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config)], 8),
    ([MinhashDedupCluster(f"{work}/buckets", f"{work}/removed", config=config)], 1),
    ([reader(), MinhashDedupFilter(f"{work}/removed"), ParquetWriter(output)], files),
]
for number, (pipeline, tasks) in enumerate(steps):
    LocalPipelineExecutor(
        pipeline, tasks=tasks, workers=1, logging_dir=f"{work}/logs/{number}"
    ).run()
"""
"""datatrove's own four steps, with as many features of as many minima as ours."""
INDEXED = """
import sys
from pathlib import Path
import pyarrow as pa
from pyarrow.parquet import ParquetFile, write_table

tool, data, output = sys.argv[1:]
def shingles(text):
    words = text.split()
    return {" ".join(words[at : at + 4]) for at in range(max(len(words) - 3, 1))}

if tool == "rensa":
    from rensa import RMinHash, RMinHashLSH
    index = RMinHashLSH(0.9, 64, 8)
    def is_new(number, text):
        sketch = RMinHash(64, 1)
        sketch.update([*shingles(text)])
        return not index.query(sketch) and (index.insert(number, sketch) or True)
elif tool == "datasketch":
    from datasketch import MinHash, MinHashLSH
    index = MinHashLSH(num_perm=64, params=(8, 8))
    def is_new(number, text):
        sketch = MinHash(64)
        sketch.update_batch([each.encode() for each in shingles(text)])
        return not index.query(sketch) and (index.insert(number, sketch) or True)
else:
    from gaoya.minhash import MinHashStringIndex
    index = MinHashStringIndex(32, 0.9, 8, 8, None, "word", True, (4, 4))
    def is_new(number, text):
        return not index.query(text) and (index.insert_document(number, text) or True)
kept, number = [], 0
for path in sorted(Path(data).glob("*.parquet")):
    for batch in ParquetFile(path).iter_batches(1000, columns=["id", "text"]):
        for row in batch.to_pylist():
            number += 1
            if is_new(number, row["text"]):
                kept.append(row["id"])
Path(output).mkdir()
write_table(pa.table({"id": kept}), f"{output}/kept.parquet")
"""
"""Indexes of 8 bands of 8 minima, to which a document is added if they find none like it."""


def passages(folders: list[Path]) -> list[list[str]]:
    if not folders:
        return [[f"w{number}-{word}" for word in range(PASSAGE)] for number in range(500)]
    extractor, found = Extractor(mode="main"), []
    for path in (path for folder in folders for path in html_files(folder)):
        try:
            words = extractor.extract(parse_html(path.read_bytes(), None)).text.split()
        except (InputError, OSError):
            continue
        found += [words[at : at + PASSAGE] for at in range(0, len(words) - PASSAGE, PASSAGE)]
    return found


def documents(parts: list[list[str]], count: int) -> Iterator[dict[str, object]]:
    chance = random.Random(1)
    recent: list[tuple[int, list[str]]] = []
    for number in range(count):
        (kind,) = chance.choices([*KINDS], [*KINDS.values()]) if recent else ("new",)
        source = number
        if kind == "new":
            drawn = (chance.choice(parts) for _ in range(chance.randint(*PASSAGES)))
            words = [word for part in drawn for word in part]
            at = len(recent) if len(recent) < RECENT else chance.randrange(RECENT)
            recent[at : at + 1] = [(number, words)]
        else:
            source, words = chance.choice(recent)
            words = words.copy()
            for _ in range(round(REPLACED[kind] * len(words))):
                words[chance.randrange(len(words))] = chance.choice(chance.choice(parts))
        url = f"https://site{number % 97}.test/page/{number}"
        date = f"20{10 + number % 15}-0{1 + number % 9}-01"
        metadata = {"url": url, "date": date, "kind": kind, "source": source}
        yield {"text": " ".join(words), "id": f"doc-{number:08}", "metadata": metadata}


def write(folder: Path, rows: Iterator[dict[str, object]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    batches = iter(lambda: list(islice(rows, PER_BATCH)), [])
    first = pa.Table.from_pylist(next(batches))
    for file in range(sys.maxsize):
        with ParquetWriter(folder / f"part-{file:05}.parquet", first.schema) as writer:
            writer.write_table(first)
            for batch in islice(batches, PER_FILE // PER_BATCH - 1):
                writer.write_table(pa.Table.from_pylist(batch, first.schema))
        if not (batch := next(batches, None)):
            return
        first = pa.Table.from_pylist(batch, first.schema)


class Run(NamedTuple):
    """What a run took, seconds of processor and of wall, and the ids of what it kept."""

    seconds: float
    wall: float
    megabytes: float
    kept: set[str]


def measured(command: Sequence[object], output: Path) -> Run:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak, start = 0, time.perf_counter()
    with scratch() as folder, (folder / "errors").open("w+") as errors:
        process = subprocess.Popen(
            [str(each) for each in command], stdout=subprocess.DEVNULL, stderr=errors
        )
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.05)
        wall = time.perf_counter() - start
        errors.seek(0)
        if process.returncode:
            raise SystemExit(errors.read()[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(seconds, wall, peak / 1e6, ids_in(output))


def resident(root: int) -> int:
    """Return the bytes that a process and its descendants have in memory."""
    processes: dict[str, tuple[str, int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):  # it has ended
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            processes[entry.name] = parent, int((entry / "statm").read_text().split()[1])
    total, waiting = 0, [str(root)]
    while waiting:
        process = waiting.pop()
        waiting += [child for child, (parent, _) in processes.items() if parent == process]
        total += processes.get(process, ("", 0))[1] * resource.getpagesize()
    return total


def ids_in(folder: Path) -> set[str]:
    tables = [read_table(path, columns=["id"]) for path in folder.rglob("*.parquet")
              if "_removed" not in path.parts]  # fmt: skip
    tables += [ipc.open_stream(path).read_all() for path in folder.rglob("*.arrow")]
    return {each for table in tables for each in table["id"].to_pylist()}


def repeating(files: Sequence[Path]) -> set[str]:
    """Return the documents with an earlier one at .9 or above by all word 4-shingles."""
    columns = Columns(id="id", html=None)
    pages = Pages(Corpus([*map(str, files)], columns), "main", (), ALONE)
    found = join_sets(HashSets(pages.read(Shingles(size=4))), 0.9, memory=2 << 30)
    return {pages.names[number] for number in found.j.tolist()}


def report(name: str, run: Run, kinds: dict[str, str], exact: set[str]) -> None:
    removed = Counter(kinds[each] for each in kinds.keys() - run.kept)
    total = Counter(kinds.values())
    shares = ", ".join(f"{kind} {removed[kind] / total[kind]:.4f}" for kind in KINDS)
    if exact:
        gone = kinds.keys() - run.kept
        right = len(gone & exact)
        shares += f"; precision {right / len(gone):.3f}, recall {right / len(exact):.3f}"
    print(f"{name:28}{run.seconds:8.1f} s CPU{run.wall:8.1f} s{run.megabytes:8.0f} MB"
          f"   kept {len(run.kept):,}, removed of {shares}", flush=True)  # fmt: skip


def main() -> None:
    options = arguments(
        __doc__,
        "data",
        check=lambda given: None if given.quick or given.data else "which folder of DATA?",
        pages=([Path()], "folders of HTML, of which documents are made"),
        documents=1_000_000,
        memory=["1GB"],
        jobs=[1],
        datatrove=(Path, "an interpreter"),
        text_dedup=(Path, "an interpreter"),
        rensa=(Path, "an interpreter"),
        datasketch=(Path, "an interpreter"),
        gaoya=(Path, "an interpreter"),
        exact=False,
        differences=(Path, "a file: of kept ids, as JSON"),
        quick={"documents": 2_000, "memory": ["256MB"]},
    )
    with scratch() as work:
        data = options.data[0] if options.data else work / "data"
        if not data.exists():
            folders = [] if options.quick else options.pages
            write(data, documents(passages(folders), options.documents))
        compare(data, work, options)


def compare(data: Path, work: Path, options: object) -> None:
    files = sorted(data.glob("*.parquet"))
    kinds: dict[str, str] = {}
    for path in files:
        table = read_table(path, columns=["id", "metadata"])
        made = (row["kind"] for row in table["metadata"].to_pylist())
        kinds.update(zip(table["id"].to_pylist(), made, strict=True))
    print(f"{len(kinds):,} documents in {len(files)} files")
    exact = repeating(files) if options.exact or options.quick else set()
    runs, target = {}, work / "output"
    for jobs, memory in product(options.jobs, options.memory):
        rmtree(target, ignore_errors=True)
        command = [OURS, "dedupe", data, "--output", target, "--id-column", "id"]
        runs["ours"] = measured([*command, "--memory", memory, "--jobs", jobs], target)
        report(f"ours, {memory}, {jobs} jobs", runs["ours"], kinds, exact)
        kept = {kinds[each] for each in runs["ours"].kept}
        assert "copy" not in kept, "a copy was kept"
    others = {
        "datatrove": ["-c", DATATROVE, data, work / "steps", target, len(files)],
        "text-dedup": [
            "-m", "text_dedup.minhash", "--path", "parquet", "--data_files", data / "*.parquet",
            "--split", "train", "--column", "text", "--output", target, "--num_perm", 64,
            "--b", 8, "--r", 8, "--ngram", 4, "--cache_dir", work / "cache", "--num_proc", 1,
            "--batch_size", 10_000,
        ],
        **{tool: ["-c", INDEXED, tool, data, target] for tool in ("rensa", "datasketch", "gaoya")},
    }  # fmt: skip
    for name, given in others.items():
        if python := getattr(options, name.replace("-", "_")):
            rmtree(target, ignore_errors=True)
            runs[name] = measured([python, *given], target)
            report(f"{name}, 8 x 8", runs[name], kinds, exact)
    if options.differences:
        found = {f"{one}, not {other}": sorted(runs[one].kept - runs[other].kept)
                 for one, other in permutations(runs, 2)}  # fmt: skip
        options.differences.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
