"""The files of a shard: its documents without the removed ones, and the list of these.

The list is written last, and shows that the shard is done.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.dedupe.decisions import EQUAL, KNOWN, MOST, are_removed, read_decisions
from scrapy_neardup.dedupe.known import known_lines
from scrapy_neardup.dedupe.rewriting import rewrite
from scrapy_neardup.dedupe.shards import Shard
from scrapy_neardup.dedupe.sketchfiles import SketchFiles
from scrapy_neardup.offline.files.atomic import written

Integers = NDArray[np.int64]

REMOVED = "_removed"
"""Folder, below the output folder, of the lists of removed documents."""


class WriteTask(NamedTuple):
    """The number of a shard to be written, and the path of its list of removed documents."""

    number: int
    target: str


class Writer:
    """Writes shards; one a process.

    Parameters
    ----------
    shards, files
        All of them, and their sketches.
    work
        The folder with the decisions.
    output
        The folder of the new files.
    store
        What to call the store, or packed file, whose pages documents may repeat.
    """

    def __init__(
        self, shards: tuple[Shard, ...], files: SketchFiles, work: str, output: str, store: str
    ) -> None:
        self._shards, self._files, self._work, self._output = shards, files, work, output
        self._store = store

    def write(self, task: WriteTask) -> int:
        """Write a shard and the list of removed documents; return the number of its documents."""
        shard, files = self._shards[task.number], self._files
        start, stop = files.span(task.number)
        kept, shares = read_decisions(self._work, len(files), start, stop)
        documents = np.arange(start, stop)
        rows = files.heads(documents)["row"].astype(np.int64)
        gone = np.flatnonzero(are_removed(documents, kept, shares))
        rewrite(shard, self._output, rows, rows[gone])
        self._list(task, documents[gone], rows[gone], kept[gone], shares[gone])
        return stop - start

    def _list(
        self,
        task: WriteTask,
        documents: Integers,
        rows: Integers,
        kept: Integers,
        shares: NDArray[np.uint16],
    ) -> None:
        files = self._files
        known = known_lines(files.targets[task.number])
        of_shards = files.shard_of(kept)
        of_rows = files.heads(kept)["row"]
        with written(task.target) as file:
            for name, row, of, of_shard, of_row, share in zip(
                files.names(documents),
                rows.tolist(),
                files.names(kept),
                of_shards.tolist(),
                of_rows.tolist(),
                shares.tolist(),
                strict=True,
            ):
                source = self._shards[of_shard]
                is_equal = share == EQUAL
                line = {
                    "id": name,
                    "row": row,
                    "of": of,
                    "of_file": source.paths[of_row if source.kind == "html" else 0],
                    "of_row": of_row,
                    "resemblance": 1.0 if is_equal else round(share / MOST, 4),
                    "reason": "equal" if is_equal else "similar",
                }
                if share == KNOWN:
                    page = {"of_file": self._store, "of_row": None, "reason": "known"}
                    line |= next(known) | page
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def removed_name(number: int, shard: Shard) -> str:
    """Return the path of a shard's list of removed documents, below the output folder."""
    name = f"{shard.name or 'pages'}-{number:05}" if shard.kind == "html" else shard.name
    return f"{REMOVED}/{name}.jsonl"
