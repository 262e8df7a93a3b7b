"""Fixtures of real crawls: a process that crawls, a site, and both together."""

import inspect
import re
from pathlib import Path

import pytest
from crawl_client import Worker
from site_server import Site

DOCUMENTED = (Path(__file__).parent.parent.parent / "docs" / "settings.md").read_text()
STATS = re.findall(r"^\| `(neardup/.+?)` \|", DOCUMENTED, re.MULTILINE)


@pytest.fixture(scope="session")
def worker():
    process = Worker()
    yield process
    process.close()


@pytest.fixture
def site():
    with Site() as running:
        yield running


@pytest.fixture
def audit(tmp_path):
    """Return the path of an audit to be written."""
    return tmp_path / "audit.jsonl"


@pytest.fixture
def crawl(worker, site):
    """Crawl `site` with a spider class. An error in the log fails the test, unless expected.

    Names in capital letters are settings, and `settings` are more of them; all else is for the
    spider. The key is the public one, so that a test goes the same way each time.
    """

    def run(spider, *paths, errors=False, **arguments):
        [outcome] = worker.crawl(part(spider, *paths, **arguments))
        assert bool(outcome.logged("ERROR")) == errors, outcome.logged("ERROR")
        assert not outcome.logged("WARNING", "py.warnings")
        for name in outcome.counted():
            general = re.sub(r"^distance/\d+$", "distance/N", name)
            for kind, shown in (("unjudged", "REASON"), ("rule", "NAME"), ("learnt", "KIND")):
                general = re.sub(rf"^{kind}/[a-z0-9-]+$", f"{kind}/{shown}", general)
            assert f"neardup/{general}" in STATS
        return outcome

    def part(spider, *paths, settings=None, **more):
        own = {name: more.pop(name) for name in [*more] if name.isupper()}
        return {
            "file": inspect.getfile(spider),
            "spider": spider.__name__,
            "settings": {"NEARDUP_HASH_KEY": "public", **(settings or {}), **own},
            "arguments": {"site": site.url, "paths": paths, **more},
        }

    run.part, run.worker = part, worker
    return run
