"""Who may read the files that are made: their owner, or whom the umask lets; modes stay."""

import asyncio
import os
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest
from store_registry import page

from scrapy_neardup.crawl.audit import AuditFile
from scrapy_neardup.offline.readers.files import written
from scrapy_neardup.stores import open_store


@pytest.fixture(autouse=True, params=[0o022, 0o002])
def umask(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes():
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in Path().iterdir()}


@contextmanager
def an_audit():
    audit = AuditFile("made")
    yield
    audit.close()


@contextmanager
def a_store():
    """A store that holds a page, open, so that there is a journal."""
    with asyncio.Runner() as runner:
        store = open_store("sqlite:made")
        runner.run(store.open())
        runner.run(store.check_and_add(page(1, 1)))
        runner.run(store.confirm(1))
        yield
        runner.run(store.close())


@pytest.mark.parametrize("made", [an_audit, a_store])
def test_what_a_crawl_writes_is_its_owners(made):
    with made():
        found = modes()
    assert set(found.values()) | set(modes().values()) == {"0o600"}


@pytest.mark.parametrize("made", [an_audit, a_store])
def test_an_existing_file_keeps_its_mode(made):
    Path("made").touch()
    Path("made").chmod(0o640)
    with made():
        pass
    assert modes() == {"made": "0o640"}


def test_what_a_command_writes(umask):
    with written("new") as file:
        file.write(b"x")
    Path("old").touch()
    Path("old").chmod(0o640)
    with written("old") as file:
        assert set(modes().values()) == {oct(0o666 & ~umask), "0o640"}
        file.write(b"x")
    assert modes() == {"new": oct(0o666 & ~umask), "old": "0o640"}


def test_a_link_at_the_place_of_a_part_is_not_followed():
    Path("victim").write_text("x")
    Path(f".made.{os.getpid()}.part").symlink_to("victim")
    with written("made") as file:
        file.write(b"y")
    assert Path("victim").read_text() == "x"
    assert not Path("made").is_symlink()
    assert Path("made").read_text() == "y"
