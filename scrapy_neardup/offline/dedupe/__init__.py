"""Removal of duplicates from data sets, from files to files.

A job has three steps. Each leaves files, so that the job can be resumed:

1. *Sketch* (`sketching`): every file is read once, and some 400 bytes of each document
   are kept in the job's work folder.
2. *Decide* (`choosing`): documents that repeat a page of an existing store are removed (`known`).
   Documents with equal texts, or with common features or fingerprints, are grouped on disk and
   compared (`deciding`). A document is removed if it resembles a kept one that ranks before it.
3. *Write* (`writing`): every file is read once more, and written in its own format without the
   removed documents. A list beside it has the removed documents, with those kept for them.

`job` runs them, with the options of `joboptions` and the tasks of `jobplan`. Another job removes
repeated parts of documents: `within` finds lines, paragraphs or runs of words, and writes files
without them, or with marks at them.
"""

from scrapy_neardup.offline.dedupe.job import Summary, dedupe
from scrapy_neardup.offline.dedupe.joboptions import DedupeOptions, TrimOptions
from scrapy_neardup.offline.dedupe.jobplan import PausedError, ShardTurn
from scrapy_neardup.offline.dedupe.within import TrimSummary, trim

__all__ = [
    "DedupeOptions",
    "PausedError",
    "ShardTurn",
    "Summary",
    "TrimOptions",
    "TrimSummary",
    "dedupe",
    "trim",
]  # fmt: skip
