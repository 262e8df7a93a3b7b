"""What two processes can bring: processor time of the first one, and of those that work for it.

Each verb reads the same documents (`benchmarks/dedupe.py` makes them, in two files) alone and with
``--jobs 2``. On two idle cores that can't end before the first process has done its own part, nor
before both cores have done half of all: the bound is how often the longer of the two is in the
time of one process. Processor time hardly depends on what else the machine does.

    python benchmarks/workers.py [--documents 12000] [--verb scan dedupe]
"""

import json
import subprocess
import sys
from pathlib import Path
from shutil import rmtree

from dedupe import documents, passages
from harness import Table, arguments, scratch

VERBS = {
    "scan": ["--output", "out"],
    "load": ["--store", "memory:", "--namespace", "a"],
    "join": ["--output", "out"],
    "clusters": ["--output", "out"],
    "dedupe": ["--output", "made"],
}
MEASURED = """
import resource, sys
if __name__ == "__main__":
    from scrapy_neardup.cli import main
    main(sys.argv[1:], standalone_mode=False)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        print(used.ru_utime + used.ru_stime, file=sys.stderr)
"""


def seconds(folder: Path, verb: str, jobs: int) -> tuple[float, float]:
    rmtree(folder / "made", ignore_errors=True)
    (folder / "measured.py").write_text(MEASURED)
    command = [sys.executable, "measured.py", verb, "data", *VERBS[verb], "--jobs", str(jobs)]
    done = subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    first, others = map(float, done.stderr.split()[-2:])
    return first, others


def contents(folder: Path) -> dict[str, bytes]:
    files = [folder / "out", *sorted((folder / "made").rglob("*.jsonl"))]
    return {path.name: path.read_bytes() for path in files if path.exists()}


def main() -> None:
    options = arguments(
        __doc__, verb=([*VERBS], None, [*VERBS]), documents=12_000,
        quick={"documents": 500, "verb": ["dedupe"]},
    )  # fmt: skip
    with scratch() as folder:
        (folder / "data").mkdir()
        rows = [json.dumps(row) + "\n" for row in documents(passages([]), options.documents)]
        half = len(rows) // 2
        for name, part in ("a", rows[:half]), ("b", rows[half:]):
            (folder / "data" / f"{name}.jsonl").write_text("".join(part))
        times = dict.fromkeys(("alone", "first of two", "workers", "bound"), "13.2f")
        table = Table(verb="<9", **times)
        for verb in options.verb:
            alone, _ = seconds(folder, verb, 1)
            made = contents(folder)
            first, workers = seconds(folder, verb, 2)
            assert contents(folder) == made, f"{verb} --jobs 2 printed something else"
            bound = alone / max(first, (first + workers) / 2)
            table.row(verb, alone, first, workers, bound)


if __name__ == "__main__":
    main()
