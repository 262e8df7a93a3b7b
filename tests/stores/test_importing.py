"""Stores whose packages are missing."""

import subprocess
import sys

import pytest

from scrapy_neardup.stores import imported

MISSING = (
    "--store: redis://h/0 needs the package redis, which isn't installed:"
    " pip install '.[redis]' in a clone of scrapy-neardup"
)


@pytest.mark.parametrize("verb", ["stats", "scan pages.jsonl", "load pages.jsonl --namespace n"])
def test_without_redis_py_a_store_in_redis_names_the_extra(verb, tmp_path):
    (tmp_path / "pages.jsonl").write_text('{"text": "one two three four five six"}\n')
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from scrapy_neardup.cli import main; main(sys.argv[1:])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *verb.split(), "--store", "redis://user:secret@h/0"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 2
    assert MISSING in ended.stderr
    assert "secret" not in ended.stderr


def test_other_modules_that_are_missing_are_named_themselves():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        imported("no_such_module:Store", "toy:")
