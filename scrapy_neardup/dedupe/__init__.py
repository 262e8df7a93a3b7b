"""Data sets without their duplicates: from files to files.

A job has three steps, each of which leaves files behind, so that it can be resumed if it is
killed:

1. *Sketch* (`sketching`): every file of documents is read once; of each document some 400 bytes
   are kept in the job's work folder.
2. *Decide* (`choosing`): documents with equal texts, or with features or fingerprints in common,
   are grouped on disk and compared. A document is removed if it resembles one that is kept and
   ranks before it; or, before all this, if it repeats a page of an existing store (`known`).
3. *Write* (`writing`): every file is read once more; its documents are written in its own format
   without the removed ones, which are listed beside it with the documents kept for them.

============== =============================================================================
`joboptions`   the options of a job
`shards`       inputs -> files of documents
`ranking`      which of several duplicates is kept
`sketching`    a file -> the sketches of its documents
`known`        documents that repeat a page of a store; kept ones that are added to it
`sketchfiles`  the sketches of all files, by the numbers of documents
`choosing`     sketches -> decisions, through the next three
`components`   sketches -> documents that have something in common, a component at a time
`deciding`     documents in common -> which are removed, for which
`decisions`    the decisions, by the numbers of documents
`writing`      decisions -> files without the removed documents, and lists of these
`rewriting`    the formats of files
`jobplan`      the options and inputs of a job, which a resumed one must have, too
`job`          the steps in their order, and which are done
============== =============================================================================

To remove what repeats within documents (lines, paragraphs, runs of words) is another job:

============== =============================================================================
`units`        a text -> its lines, paragraphs or runs of words, and their digests
`counting`     digests of all texts -> the units to be removed
`trimming`     files without these units, or with marks at them
`within`       the steps in their order
============== =============================================================================
"""

from scrapy_neardup.dedupe.job import Summary, dedupe
from scrapy_neardup.dedupe.joboptions import DedupeOptions
from scrapy_neardup.dedupe.within import TrimOptions, TrimSummary, trim

__all__ = ["DedupeOptions", "Summary", "TrimOptions", "TrimSummary", "dedupe", "trim"]
