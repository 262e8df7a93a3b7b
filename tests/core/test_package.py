import subprocess
import sys

import pytest

import scrapy_neardup


def imported_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_public_names_are_lazy():
    assert "scrapy" not in imported_by("import scrapy_neardup")
    assert "scrapy" in imported_by("import scrapy_neardup; scrapy_neardup.Addon")
    with pytest.raises(AttributeError, match="nonsense"):
        scrapy_neardup.nonsense  # noqa: B018


def test_lower_rooms_import_neither_scrapy_nor_redis_nor_click():
    rooms = ("text", "fingerprints", "tables", "stores", "detector")
    modules = imported_by("import " + ", ".join(f"scrapy_neardup.{room}" for room in rooms))
    assert not modules & {"scrapy", "twisted", "redis", "click", "sqlite3", "tldextract"}
