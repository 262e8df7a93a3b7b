"""Documents are compared with a store or a packed file, and added to a store."""

import json
import random
import shutil
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from datasets import KilledError, killed_before, tree, write_lines
from store_registry import PLACES

from scrapy_neardup.cli import main
from scrapy_neardup.errors import ConfigurationError, InputError
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.dedupe import dedupe
from scrapy_neardup.offline.jobs.knownpages import KnownPages
from scrapy_neardup.stores.entryformat import ENTRY_DTYPE
from scrapy_neardup.stores.packfile import open_packed

NAMESPACE = "--namespace", "default"


def made(name, seeds, *, changed=0):
    """Documents of 300 words each; some words of each changed."""
    rows = []
    for seed in seeds:
        words = [f"w{random.Random(f'{seed} {place}').randrange(9000)}" for place in range(300)]
        words[:changed] = [f"{name}{place}" for place in range(changed)]
        rows.append({"url": f"http://{name}.test/{seed}", "text": " ".join(words)})
    return rows


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Old documents 0 to 39; new ones, of which 20 to 39 repeat old ones and 10 each other."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "old.jsonl", made("old", range(40)))
    (tmp_path / "new").mkdir()
    write_lines(tmp_path / "new/a.jsonl", [*made("new", range(20, 70), changed=1), {"text": "x"}])
    write_lines(tmp_path / "new/b.jsonl", made("more", range(60, 80), changed=1))
    return tmp_path


def call(*arguments):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def removed(output, reason="known"):
    texts = "".join(path.read_text() for path in sorted(output.glob("_removed/*")))
    return [line for line in map(json.loads, texts.splitlines()) if line["reason"] == reason]


@pytest.fixture(params=["sqlite", "redis", "packed"])
def existing(request, data):
    if request.param == "packed":
        call("scan", "old.jsonl", "--output", "old.scan.jsonl")
        call("pack", "old.scan.jsonl", "--output", "old.pack")
        yield "old.pack"
        return
    with PLACES[request.param]() as place:
        call("load", "old.jsonl", "--store", place.uri, *NAMESPACE)
        yield place.uri


def test_existing_pages(data, existing):
    summary = dedupe(["new"], "out", existing=[existing])
    assert (summary.documents, summary.known, summary.equal + summary.similar) == (71, 20, 10)
    for line in removed(data / "out"):
        number = line["id"].rpartition("/")[2]
        assert line["of"] == f"http://old.test/{number}"
        assert (line["of_row"], line["resemblance"] > 0.9, line["distance"] < 12) == (None, 1, 1)
    # Asking leaves nothing behind, and two processes come to the same.
    dedupe(["new"], "again", existing=[existing], jobs=2)
    assert tree(data / "again") == tree(data / "out")
    if existing.endswith(".pack"):
        assert len(open_packed(existing)) == 40
        return
    assert dedupe(["new"], "more", existing=[existing, "old.jsonl"], update=True).existing == 40
    assert json.loads(call("stats", "--store", existing, *NAMESPACE, "--json"))["pages"] == 80
    assert dedupe(["new"], "third", existing=[existing]).known == 70


def stored(path):
    """What a store holds of each page, but how many repeat it, and when one last did."""
    with closing(sqlite3.connect(path)) as file:
        rows = sorted(file.execute("SELECT url, entry FROM page"))
    at = ENTRY_DTYPE.fields["duplicates"][1]
    return [(url, entry[:at], entry[ENTRY_DTYPE.itemsize : -4]) for url, entry in rows]


@pytest.mark.parametrize("step", [0, 30, 69, 71, 90, 109])
def test_a_job_that_is_killed_adds_what_an_undisturbed_one_does(data, monkeypatch, step):
    call("load", "old.jsonl", "--store", "sqlite:whole.db", *NAMESPACE)
    shutil.copy("whole.db", "out.db")  # with the same key
    dedupe(["new"], "whole", existing=["sqlite:whole.db"], update=True)

    def job(**more):
        dedupe(["new"], "out", existing=["sqlite:out.db"], update=True, **more)

    with monkeypatch.context() as patch:
        # Which is called once for each page that is asked for or added.
        patch.setattr(KnownPages, "_judged", killed_before(step, KnownPages._judged))
        with pytest.raises(KilledError):
            job()
    job(resume=True)
    assert stored("out.db") == stored("whole.db")
    assert tree(data / "out") == {
        name: content.replace(b"whole.db", b"out.db")
        for name, content in tree(data / "whole").items()
    }


def test_what_cant_be_done_says_what_to_use(data):
    for existing, update, message in (
        (["a.pack"], True, r"a\.pack: a packed file can't be updated; scan the output and pack"),
        (["old.jsonl"], True, "named as another existing one the next time"),
        (["a.pack", "sqlite:x.db"], False, r"sqlite:x\.db: of stores and packed files one can be"),
        (["sqlite:x.db"], False, r"sqlite:x\.db: there are no pages in its namespace 'default'"),
    ):
        with pytest.raises((ConfigurationError, InputError), match=message):
            dedupe(["new"], "out", existing=existing, update=update)
    call("load", "old.jsonl", "--store", "sqlite:s.db", *NAMESPACE)
    other = Parameters(shingle_size=5)
    with pytest.raises(ConfigurationError, match="shingle_size is 4 there and 5 here"):
        dedupe(["new"], "out", existing=["sqlite:s.db"], parameters=other)
    assert not (data / "out").exists()
