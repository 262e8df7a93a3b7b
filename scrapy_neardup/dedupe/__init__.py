"""Data sets without their duplicates: from files to files.

A job has three steps, each of which leaves files behind, so that it can be resumed:

1. *Sketch* (`sketching`): every file of documents is read once; of each document some 400 bytes
   are kept in the job's work folder.
2. *Decide* (`choosing`): documents with equal texts, or with features or fingerprints in common,
   are grouped on disk and compared. One is removed if it resembles a kept one that ranks before
   it; or, before all this, if it repeats a page of an existing store (`known`).
3. *Write* (`writing`): every file is read once more, and written in its own format without the
   removed documents, which are listed beside it with the ones kept for them.

============== =============================================================================
`joboptions`   the options of a job, and which of several duplicates is kept
`jobplan`      inputs -> files of documents; what a resumed job must have, too; tasks to be done
`sketching`    a file -> the sketches of its documents, by the numbers of documents
`known`        documents that repeat a page of a store; kept ones that are added to it
`choosing`     sketches -> components of documents that have something in common -> decisions
`deciding`     documents in common -> which are removed, for which
`writing`      decisions -> files without the removed documents, and lists of these
`job`          the steps in their order
============== =============================================================================

To remove what repeats within documents is another job: `counting` finds the lines, paragraphs or
runs of words, `within` writes files without them, or with marks at them.
"""

from scrapy_neardup.dedupe.job import Summary, dedupe
from scrapy_neardup.dedupe.joboptions import DedupeOptions
from scrapy_neardup.dedupe.within import TrimOptions, TrimSummary, trim

__all__ = ["DedupeOptions", "Summary", "TrimOptions", "TrimSummary", "dedupe", "trim"]
