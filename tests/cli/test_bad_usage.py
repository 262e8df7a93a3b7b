"""What can't be used ends a verb with status 2 and one message, and leaves nothing behind."""

import gzip
import shlex

import numpy as np
import pytest
from audits import shop
from datasets import write_lines, write_parquet

SCANNED = '{"page": "a", "features": {"6,14,2": ["x"]}}'
TABLE = [
    # arguments | what the message says | standard input
    # Thresholds are checked before anything is read.
    *((f"{verb} - --threshold nan", "must be a number above 0", "{")
      for verb in ("join", "clusters")),
    ("join missing.jsonl", "missing", ""),
    ("join pages.jsonl --measure hamming", "--measure hamming needs --distance", ""),
    ("join pages.jsonl --measure hamming --distance -1", "Invalid value for '--distance'", ""),
    ("join pages.jsonl --measure hamming --threshold .9",
     "--threshold can't be combined with --measure hamming", ""),
    ("join pages.jsonl --distance 2", "--distance can't be combined with --measure jaccard", ""),
    ("join pages.jsonl --measure containment --algorithm ppjoin",
     "--algorithm can't be combined with --measure containment", ""),
    *(("clusters --pairs -", f"-, line 2: {what}", '{"a": 1, "b": 2}\n' + line)
      for line, what in (("nothing", "not a pair"), ("[1, 2]", "not a pair"),
                         ('{"a": 1}', "not a pair"), ('{"a": 1, "b": null}', "not a pair"),
                         ('{"a": 1.5, "b": 2}', "not a pair"))),
    *((f"{verb} pages.jsonl --modulus {1 << 64}", "the modulus must be a whole number from", "")
      for verb in ("join", "clusters")),
    *(("clusters --pairs - --output y.parquet", "y.parquet: a column of Parquet has one", line)
      for line in ('{"a": 1, "b": "x"}', f'{{"a": 1, "b": {1 << 64}}}')),
    ("clusters --pairs - --threshold .9", "--threshold can't be combined with --pairs", ""),
    ("clusters --pairs - --method exact", "--method can't be combined with --pairs", ""),
    ("clusters - --method features --modulus 4", "--modulus can't be combined with --method", ""),
    ("clusters --pairs pages.jsonl --jobs 2", "--jobs can't be combined with", ""),
    ("clusters", "either pages to compare, or files", ""),
    ("clusters pages.jsonl --pairs -", "either pages to compare, or files", ""),
    ("clusters --pairs - --canonical longest-text", "needs pages", ""),
    ("clusters --pairs missing.jsonl", "missing.jsonl", ""),
    *((f"{verb} - {more} -", "-: standard input can be read only once", "{}")
      for verb, more in (("join", "--existing"), ("pairs", "--existing"), ("query", "--in"),
                         ("clusters --pairs", "--pairs"), ("pack --output x", ""), ("scan", ""),
                         ("changes", ""))),
    *((f"{verb} {path}", f"{path}: would be read twice", "{}")
      for verb in ("dedupe --output out", "report", "changes alone.jsonl")
      for path in ("-", "/dev/null")),
    ("dedupe pages.jsonl --output -", "--output: - isn't a folder", ""),
    ("clusters pages.jsonl --method features --features 6,14,7",
     "--features must be three numbers", ""),
    *((f"clusters pages.jsonl --memory {size}", "isn't a size such as", "")
      for size in ("much", "1XB", "9" * 400)),
    (f"join pages.jsonl --minima {1 << 63}", "1<=x<=65536", ""),
    *(("pack - --output x", "-, line 1: ", line) for line in ('{"page": "a"}', "[]", SCANNED,
                  f'{{"page": "a", "fingerprint": "{"0" * 16}", "schema": 5}}')),
    ("query --in site", "name either pages", ""),
    ("query site --in site --like a", "name either pages", ""),
    ("query site --in x.pack --in site", "searched alone", ""),
    ("query site --in site --max-distance 2", "--max-distance can't be combined", ""),
    ("query site --in x.pack", "x.pack: can't be read", ""),
    ("query site --in site --min-resemblance nan", "--min-resemblance must be from 0 to 1", ""),
    ("query site", "Missing option '--in'", ""),
    ("dedupe x.parquet --output out --lines 2 --substrings 50", "use only one of --lines", ""),
    ("dedupe x.parquet --output out --lines 2 --keep longest",
     "--keep can't be combined with --lines", ""),
    ("dedupe x.parquet --output out --substrings 9 --but-first", "--but-first is for lines", ""),
    ("dedupe x.parquet --output out --per-host", "--per-host needs --lines", ""),
    ("dedupe x.parquet --output out --text-column a --html-column b",
     "use only one of --text-column", ""),
    *((f"dedupe x.parquet --output out --shard {shard}", f"--shard '{shard}' is not K/N", "")
      for shard in ("0/2", "3/2", "x", "1/0")),
    ("dedupe x.parquet --output out --shard 1/2 --merge", "use only one of --shard", ""),
    ("dedupe no --output out", "no: there is no such file or folder", ""),
    ("dedupe x.parquet --output site", "site: isn't empty", ""),
    ("dedupe x.parquet --output out --keep 'a ** b'", "keep must be", ""),
    ("dedupe x.parquet --output out --memory much", "isn't a size", ""),
    ("dedupe x.parquet --output out --memory 1MB", "memory must be 64 MiB or more", ""),
    ("dedupe x.parquet --output out --min-resemblance 0", "must be above 0", ""),
    ("join pages.jsonl --modulus 8 --labelled", "--labelled can't be combined with", ""),
    ("scan nowhere", "nowhere: can't be read: No such file", ""),
    ("scan site nowhere", "nowhere: can't be read: No such file", ""),
    ("scan junk", "junk: doesn't look like HTML", ""),
    ("scan junk.jsonl", "junk.jsonl, line 1: not a line of JSON", ""),
    ("scan -", "-, line 1: not a line of JSON (Expecting property name", '{\n "text": "a"\n}'),
    ("scan -", "'jq -c . FILE' writes an object a line", '{"text": "a"}{"text": "b"}'),
    ("scan junk.warc", "junk.warc: not a WARC file", ""),
    ("scan site --store redish://x", "--store: no store for redish://x", ""),
    ("scan site --store seen.db", "--store: no store for 'seen.db'", ""),
    ("scan site --store sqlite:junk", "junk", ""),
    ("scan site --store sqlite:no/such/folder.db", "no/such/folder.db", ""),
    ("scan site --max-distance 11", "--max-distance", ""),
    ("scan site --ignore p[", "--ignore", ""),
    ("scan site --jobs 0", "--jobs", ""),
    ("scan - --weights own:words", "--weights: the callable must return one finite weight >= 0",
     '{"text": "one page of some words"}'),
    ("scan - --weights own:none", "or the dotted path of one (module 'own' has no attribute", ""),
    ("scan - --weights tfidf", "--weights must be 'set', 'tf', 'sqrt', 'log', a callable", ""),
    ("scan site --output no/such/file", "no/such/file: can't be written: No such", ""),
    ("scan site --output site", "site: can't be written", ""),
    ("scan", "Missing argument 'INPUT...'", ""),
    *((f"{verb} --store {uri} --namespace a", said, "")
      for verb in ("stats", "clear")
      for uri, said in (("sqlite:none.db", "there is no file"), ("sqlite:", "names no file"),
                        ("sqlite:junk", "is not a store of scrapy-neardup"),
                        ("sqlite:site", "site is not a file"),
                        ("memory:", "can't be examined by a command"),
                        ("redish://:secret@x", "can't be examined by a command"))),
    ("stats", "Missing option '--store'", ""),
    ("clear --store sqlite:pages.db", "Missing option '--namespace'", ""),
    ("load pages.jsonl --store sqlite:pages.db", "Missing option '--namespace'", ""),
    ("scna", "No such command 'scna'. Did you mean 'scan'?", ""),
    ("frobnicate", "No such command 'frobnicate'.", ""),
    ("report empty", "empty: is empty; the setting NEARDUP_AUDIT fills it while a crawl runs", ""),
    ("report empty --output no/such", "no/such: can't be written", ""),
    ("report audit.jsonl junk", "junk: not an audit", ""),
    ("report audit.jsonl cut.gz", "cut.gz: its compressed data ends too early", ""),
    ("report audit.jsonl missing", "missing: can't be read: No such file", ""),
    ("tune --audit empty", "empty: is empty; the setting NEARDUP_AUDIT fills it", ""),
    ("tune none.jsonl", "none.jsonl: can't be read", ""),
    ("tune alone.jsonl", "none of 1 page repeats another, so there is nothing to tune", ""),
    ("tune --audit alone.jsonl", "alone.jsonl, line 1: not a line of an audit", ""),
    ("tune", "Missing argument 'INPUT...'", ""),
    ("pack missing.u64 --output x", "missing.u64: can't be read", ""),
    ("pack file.u64 --output no/x", "no/x: can't be written", ""),
    ("pack file.u64 --tables 5 --output x", "--tables must be one of 4, 10", ""),
    ("pack file.u64", "--output", ""),
    ("unpack file.u64", "not a packed file", ""),
    ("pairs file.u64 --max-distance 11", "--max-distance", ""),
    ("pairs file.u64 --existing file.u64 --group-equal", "--group-equal is for", ""),
    ("pairs file.u64 --by-query --output x.parquet", "--by-query writes JSON lines", ""),
    ("rules sqlite:a.db audit.jsonl", "alone", ""),
    ("changes alone.jsonl alone.jsonl", "alone.jsonl, line 1: not a line of an audit", ""),
    ("try", "Missing argument 'URL', or the option --project.", ""),
    ("try example.com", "'example.com' isn't a URL to start from: begin with http://", ""),
    ("try http:///x", "isn't a URL to start from", ""),
    ("try http://a.example -s X", "'X' is not NAME=VALUE", ""),
    ("try --project", "--project: there is no Scrapy project here (no scrapy.cfg)", ""),
    ("try http://a.example --audit junk", "--audit: junk exists", ""),
    *((f"try http://a.example {option} no/x", f"{option}: no/x can't be written: there is no", "")
      for option in ("--output", "--audit")),
    ("try http://a.example -s NEARDUP_TITLES=x", "NEARDUP_TITLES must be", ""),
]  # fmt: skip


def files(folder):
    return {
        path: path.read_bytes() for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }  # fmt: skip


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(("arguments", "message", "stdin"), TABLE)
def test_it_is_named_and_nothing_is_written(call, tmp_path, arguments, message, stdin):
    write_lines(tmp_path / "alone.jsonl", [{"text": "one two three four five six"}])
    write_lines(tmp_path / "pages.jsonl", [{"url": "http://a.test/", "text": "a b c d e f"}])
    write_parquet(tmp_path / "x.parquet", [{"text": "a"}])
    (tmp_path / "bad.tsv").write_text("word\t1\nno weight")
    for name in ("empty", "scanned"):
        (tmp_path / name).touch()
    np.arange(9, dtype="<u8").tofile(tmp_path / "file.u64")
    audit = shop().write(tmp_path / "audit.jsonl").read_bytes()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(audit)[:-9])
    (tmp_path / "report.html").write_text("before")
    (tmp_path / "own.py").write_text("words = lambda hashes, counts: ['heavy'] * len(hashes)")
    for name in ("junk", "junk.jsonl", "junk.warc"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 9)
    before = files(tmp_path)
    result = call(*shlex.split(arguments), stdin=stdin, status=2)
    assert message in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) <= 4
    assert not any(word in result.stderr for word in ("Traceback", "secret"))
    (tmp_path / "x.db").unlink(missing_ok=True)  # a store is opened before pages are read
    assert files(tmp_path) == before
