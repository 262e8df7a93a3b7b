"""Rendering: the same on every run, and without a trace of the machine."""

import re
import sys
from pathlib import Path

import docsite.library
import pytest
from docsite.dump import SKIPPED, anonymous
from docsite.library import load


def test_modules_come_with_all_their_parts(library, modules):
    assert tuple(library) == modules
    decoder = library["json.decoder"]
    assert decoder.summary == "Implementation of JSONDecoder"
    assert "json</a>.decoder" in decoder.intro
    assert any("JSONDecodeError" in section for section in decoder.sections)


def test_no_path_and_no_address_of_this_machine(library):
    text = "".join("".join((m.intro, *m.sections)) for m in library.values())
    machine = {sys.executable, sys.prefix, sys.base_prefix, str(Path.home()), __file__,
               str(Path(docsite.library.__file__).parent)}  # fmt: skip
    assert [place for place in machine if len(place) > 1 and place in text] == []
    assert re.findall(r"\bat(?:&nbsp;| )0x[0-9a-fA-F]{6,}", text) == []


@pytest.mark.parametrize(("written", "shown"), [
    ("&lt;function f at 0x7f5ff03c82e0&gt;", "&lt;function f at 0&gt;"),
    ("&lt;object&nbsp;at&nbsp;0x00007F5FF03C82E0&gt;", "&lt;object&nbsp;at&nbsp;0&gt;"),
    ("&lt;PyDLL 'None', handle 7f841a7eb2e0&gt;", "&lt;PyDLL 'None', handle 0&gt;"),
    ("a constant 0xdeadbeef, at 12:30", "a constant 0xdeadbeef, at 12:30"),
    (f"{sys.prefix}/bin", "python/bin"),
    (f"{Path(re.__file__).parent.parent}/json.py", "lib/json.py"),
])  # fmt: skip
def test_anonymous(written, shown):
    assert anonymous(written) == shown


def test_two_renderings_are_equal(tmp_path, monkeypatch):
    names = ("os", "platform", "sys", "token", "string", "heapq")
    for run in ("first", "second"):
        monkeypatch.setenv("SECRET_OF_THIS_SHELL", run)
        monkeypatch.setenv("PYTHONHASHSEED", "1" if run == "first" else "2")
        load(names, cache=tmp_path / run)
    first, second = (next((tmp_path / run).iterdir()) for run in ("first", "second"))
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    assert b"SECRET_OF_THIS_SHELL" not in first.read_bytes()


def test_a_rendering_is_made_once(tmp_path):
    rendered = []
    tell = lambda count, name: rendered.append((count, name))
    fresh = load(["cmd", "copy"], cache=tmp_path, progress=tell)
    assert rendered == [(1, "cmd"), (2, "copy")]
    assert load(["cmd", "copy"], cache=tmp_path, progress=tell) == fresh
    assert len(rendered) == 2


def test_what_cannot_be_imported_is_left_out(tmp_path):
    assert list(load(["cmd", "no_such_module", "os.path"], cache=tmp_path)) == ["cmd"]


def test_a_rendering_that_breaks_leaves_nothing_behind(tmp_path, monkeypatch):
    script = tmp_path / "dump.py"
    script.write_text(
        'print(\'{"name": "cmd", "summary": "", "intro": "", "sections": []}\', flush=True)\n'
        "raise SystemExit(3)\n"
    )
    monkeypatch.setattr(docsite.library, "_DUMP", script)
    with pytest.raises(RuntimeError, match="status 3 after module cmd"):
        load(["cmd", "copy"], cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


SKIPS = (
    "antigravity", "this", "__main__", "json.__main__", "__phello__.spam", "idlelib.idle", "test",
    "unittest.test", "ctypes.test.test_arrays", "tkinter.ttk", "_tkinter", "turtledemo",
)  # fmt: skip
SHOWS = "unittest", "doctest", "json", "_heapq", "email.mime.text"


@pytest.mark.parametrize("name", SKIPS + SHOWS)
def test_what_opens_windows_or_is_no_documentation_is_skipped(name):
    assert bool(SKIPPED.search(name)) == (name in SKIPS)
