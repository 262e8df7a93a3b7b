"""A packed file as a base: a crawl knows its pages."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from crawl_spiders import Visit
from site_server import page, text

from scrapy_neardup.cli import main

PAPER = {"NEARDUP_PRESET": "paper"}


def command(*args, stdin=None):
    result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def packed(tmp_path):
    """Pack pages given as (URL, HTML), as scan sees them."""

    def packed(*pages, scan=("--preset", "paper"), pack=()):
        lines = "".join(json.dumps({"url": url, "html": html}) + "\n" for url, html in pages)
        scanned = command("scan", "-", *scan, stdin=lines)
        path = tmp_path / "base.pack"
        command("pack", "-", "--output", path, *pack, stdin=scanned)
        return str(path)

    return packed


@pytest.mark.parametrize("preset", ["best", "compact", "paper"])
def test_pages_of_the_base_are_known(crawl, site, packed, preset):
    short = page("a few words only, which are equal")
    other = short.replace("Title", "T3")
    site.routes |= {"/short/1": short, "/short/2": short, "/short/3": other}
    base = packed(
        (f"{site.url}/a/1", page(text("a", 1))),
        (f"{site.url}/b/1?y=2&x=1#here", page(text("b", 1))),
        (f"{site.url}/short/1", short),
        scan=("--preset", preset),
    )
    paths = ["/a/1", "/a/2", "/b/1?x=1&y=2", "/b/3", "/c/1", "/c/2"]
    settings = {"NEARDUP_PRESET": preset, "NEARDUP_BASE": base}
    outcome = crawl(Visit, *paths, "/short/1", "/short/2", "/short/3", settings=settings)
    assert outcome.notes == ["/a/1", "/b/1?x=1&y=2", "/c/1", "/short/1", "/short/3"]
    assert outcome.pages("seen", "new", "dropped") == [3, 2, 4]
    [first] = [line for line in outcome.logged("INFO") if line.startswith("Near-duplicate page")]
    assert f"repeats {site.url}/a/1 (" in first  # the base says of which page


def test_pages_of_the_base_are_known_to_their_host_only(crawl, site, packed):
    elsewhere = "https://elsewhere.example/a/1"
    pages = (elsewhere, page(text("a", 1))), (f"{site.url}/b/1", page(text("b", 1)))
    base = packed(*pages, scan=("--scope", "host"))
    assert crawl(Visit, "/a/2", "/b/2", NEARDUP_SCOPE="host", NEARDUP_BASE=base).notes == ["/a/2"]


MISFITS = {
    "text is 'full' there and 'main' here": (["--text", "full"], [], {}),
    "--max-distance 3": ([], ["--max-distance", "2"], {}),
    "scope is 'all' there and 'host' here": ([], [], {"NEARDUP_SCOPE": "host"}),
    "NEARDUP_SCOPE must be 'all', 'host' or": ([], [], {"NEARDUP_SCOPE": "language"}),
    "has no URLs": (["--scope", "host"], ["--no-urls"], {"NEARDUP_SCOPE": "host"}),
    "were hashed with another key": ([], [], {"NEARDUP_HASH_KEY": "secret"}),
    "set NEARDUP_PRESET to 'paper'": ([], ["--no-sketches"], {}),
    "text_bits is 1792 there and 512 here": ([], [], {"NEARDUP_PRESET": "compact"}),
    "features is 7 there and 9 here": (["--features", "6,14,2"], [], {}),
}


@pytest.fixture
def refused(crawl, site):
    """Let a crawl start with a base; return why it makes no request."""

    def start(base, **settings):
        outcome = crawl(Visit, "/a/1", **settings, NEARDUP_BASE=str(base), errors=True)
        assert not site.requests
        return outcome.logged("ERROR")

    return start


@pytest.mark.parametrize("said", MISFITS)
def test_a_base_that_does_not_fit_stops_the_crawl(site, refused, packed, said):
    scan, pack, settings = MISFITS[said]
    base = packed((f"{site.url}/a/1", page(text("a", 1))), scan=scan, pack=pack)
    [message] = refused(base, **settings)
    assert "NEARDUP_BASE: " in message
    assert said in message


def test_a_file_without_ids_or_parameters_is_no_base(refused, tmp_path):
    raw, lines, base = (tmp_path / f"f.{ending}" for ending in ("u64", "jsonl", "pack"))
    raw.write_bytes(bytes(range(80)))
    command("pack", raw, "--output", base)
    assert "has no page ids" in refused(base, **PAPER)[0]
    lines.write_text(json.dumps({"page": "http://a.example/", "fingerprint": "0" * 16}) + "\n")
    command("pack", lines, "--output", base)
    assert "doesn't record how its fingerprints were made" in refused(base, **PAPER)[0]
    base.unlink()
    assert "f.pack: can't be read" in refused(base, **PAPER)[0]


def test_a_damaged_base_is_a_failing_store(crawl, site, packed):
    base = packed(*((f"{site.url}/a{n}/1", page(text(f"a{n}", 1))) for n in range(3)))
    data = bytearray(Path(base).read_bytes())
    length = int.from_bytes(data[-24:-16], "little")
    pieces = json.loads(data[-24 - length : -24])["pieces"]
    start, _, _ = pieces["ids"]["parts"]["low"]  # what the first page looks at
    data[start] ^= 0xFF
    Path(base).write_bytes(data)
    outcome = crawl(Visit, "/a1/1", settings=PAPER | {"NEARDUP_BASE": base}, errors=True)
    assert outcome.notes == ["/a1/1"]
    assert outcome.counted()["unjudged/store-error"] == 1
    assert "base.pack" in outcome.logged("ERROR")[0]
