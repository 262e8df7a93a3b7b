"""Removal of duplicates from data sets, from files to files.

A job has three steps. Each leaves files, so that the job can be resumed:

1. *Sketch* (`sketching`): every file of documents is read once. The job's work folder keeps some
   150 bytes of each document, and its shingles or a sketch of them.
2. *Decide* (`choosing`): documents with equal texts, or with features in common, are grouped on
   disk, and compared. One is removed if it resembles a kept one that ranks before it.
3. *Write* (`writing`): every file is read once more, and written in its own format without the
   removed documents. A list beside it has the removed documents, with those kept for them.

`job` runs them, with the options of `joboptions` and the tasks of `jobplan`. Another job removes
repeated parts of documents: `within` finds lines, paragraphs or runs of words, and writes files
without them, or with marks at them.
"""

from scrapy_neardup.offline.dedupe.job import DedupeSummary, dedupe
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions, TrimOptions
from scrapy_neardup.offline.dedupe.jobplan import PausedError, ShardTurn
from scrapy_neardup.offline.dedupe.within import TrimSummary, trim

__all__ = [
    "DedupeOptions", "DedupeSummary", "PausedError", "ShardTurn", "TrimOptions", "TrimSummary",
    "dedupe", "trim",
]  # fmt: skip
