"""`scrapy-neardup dedupe` on Parquet files, and datatrove and text-dedup on the same ones.

Processor time and memory are what the system accounts to the processes of each run: user and
system time, and the largest sum of what they had in memory at once. The data are those of
`dedupe_data.py`, whose documents say of which others they were made.

    python benchmarks/dedupe_data.py --pages DIR... --output data --documents 200000
    python benchmarks/dedupe.py data [--memory 256MB ...] [--jobs 1 2]
        [--datatrove PYTHON] [--text-dedup PYTHON]

PYTHON is the interpreter of an environment that has the package (and spacy, for datatrove).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pyarrow import ipc
from pyarrow.parquet import ParquetFile, read_table

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


class Run(NamedTuple):
    """What a run took, and the ids of the documents that it kept."""

    seconds: float
    megabytes: float
    kept: set[str]


def measured(command: Sequence[str | Path], output: Path, **environment: str) -> Run:
    """Run a command, watch the memory of its processes, and read what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [str(each) for each in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    peak = 0
    assert process.stderr is not None
    os.set_blocking(process.stderr.fileno(), False)
    said = b""
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        said = (said + (process.stderr.read() or b""))[-2000:]
        time.sleep(0.02)
    said += process.stderr.read() or b""
    process.stderr.close()
    if process.returncode:
        raise SystemExit(said.decode(errors="replace")[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(seconds, peak / 1e6, ids_in(output))


def resident(root: int) -> int:
    """Return the bytes that a process and its descendants have in memory."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        total += pages * resource.getpagesize()
    return total


def ids_in(folder: Path) -> set[str]:
    """Return the ids in Parquet files, or in files of Arrow's stream format."""
    found: set[str] = set()
    for path in folder.rglob("*.parquet"):
        if "_removed" not in path.parts:
            found.update(read_table(path, columns=["id"])["id"].to_pylist())
    for path in folder.rglob("*.arrow"):
        with ipc.open_stream(path) as file:
            found.update(each for batch in file for each in batch.column("id").to_pylist())
    return found


def kinds_of(data: Path) -> dict[str, str]:
    found = {}
    for path in sorted(data.glob("*.parquet")):
        table = ParquetFile(path).read(columns=["id", "metadata.kind"])
        kinds = (row["kind"] for row in table["metadata"].to_pylist())
        found.update(zip(table["id"].to_pylist(), kinds, strict=True))
    return found


def report(name: str, run: Run, kinds: dict[str, str]) -> None:
    removed = Counter(kinds[each] for each in kinds.keys() - run.kept)
    total = Counter(kinds.values())
    shares = ", ".join(f"{kind} {removed[kind] / total[kind]:.4f}" for kind in total)
    print(
        f"{name:28}{run.seconds:8.1f} s{run.megabytes:8.0f} MB   kept {len(run.kept):,},"
        f" removed of {shares}",
        flush=True,
    )


def ours(data: Path, work: Path, options: Iterable[str]) -> Run:
    output = work / "ours"
    rmtree(output, ignore_errors=True)
    return measured(
        [OURS, "dedupe", data, "--output", output, "--id-column", "id", *options], output
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--memory", nargs="+", default=["1GB"], metavar="SIZE")
    parser.add_argument("--jobs", nargs="+", default=["1"], metavar="N")
    parser.add_argument("--datatrove", type=Path, metavar="PYTHON")
    parser.add_argument("--text-dedup", type=Path, metavar="PYTHON")
    parser.add_argument("--differences", type=Path, metavar="FILE", help="of kept ids, as JSON")
    options = parser.parse_args()
    kinds = kinds_of(options.data)
    files = len(list(options.data.glob("*.parquet")))
    print(f"{len(kinds):,} documents in {files} files")
    runs = {}
    with TemporaryDirectory() as folder:
        work = Path(folder)
        for jobs in options.jobs:
            for memory in options.memory:
                runs["ours"] = ours(options.data, work, ["--memory", memory, "--jobs", jobs])
                report(f"ours, {memory}, {jobs} jobs", runs["ours"], kinds)
        if options.datatrove:
            target = work / "datatrove"
            command = [options.datatrove, "-c", DATATROVE, options.data, work / "steps", target]
            runs["datatrove"] = measured([*command, str(files)], target)
            report("datatrove, 8 x 8", runs["datatrove"], kinds)
        if options.text_dedup:
            target = work / "text-dedup"
            command = [
                options.text_dedup, "-m", "text_dedup.minhash", "--path", "parquet",
                "--data_files", options.data / "*.parquet", "--split", "train", "--column", "text",
                "--output", target, "--num_perm", "64", "--b", "8", "--r", "8", "--ngram", "4",
                "--cache_dir", work / "cache", "--num_proc", "1", "--batch_size", "10000",
            ]  # fmt: skip
            runs["text-dedup"] = measured(command, target)
            report("text-dedup, 8 x 8", runs["text-dedup"], kinds)
    if options.differences:
        found = {
            f"{one}, not {other}": sorted(runs[one].kept - runs[other].kept)
            for one in runs
            for other in runs
            if one != other
        }
        options.differences.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
