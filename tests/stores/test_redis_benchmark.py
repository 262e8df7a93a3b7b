"""The benchmark of the Redis store runs on one server and in a cluster."""

from itertools import product
from pathlib import Path

import pytest
from forked import python

pytestmark = pytest.mark.benchmark

BOTH = "--preset", "paper", "best"
BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "redis_store.py"


def figures(*options):
    """Return the figures of two presets, unless the options name others."""
    run = python(BENCHMARK, "--quick", *(options or BOTH), check=True, timeout=300)
    return {line[:38].strip(): line[38:].split() for line in run.stdout.splitlines()[2:]}


def test_a_quick_run():
    found = figures()
    paper, best, more = map(float, found["bytes"])
    assert abs(best - paper - more) <= 1
    pages = [float(cell) for cell in found["bytes of pages"]]
    assert pages[1] - pages[0] > 64 + 256  # features and evidence, which paper has none of
    assert {
        "bytes of log, each new page",
        "new, 1 at once: p99 µs",
        "duplicate, 8 at once: pages/s",
        "refused, 64 at once: server CPU µs",
    } <= set(found)


def test_more_tables_take_more_memory():
    found = figures("--preset", "paper", "--tables", "4", "10")
    assert float(found["bytes of tables"][1]) > 1.5 * float(found["bytes of tables"][0])


def test_a_quick_run_in_a_cluster():
    found = figures("--cluster", *BOTH)
    # Beside the pages, a sweep makes one now and then.
    for kind, most, scripts in (("new", 12, (11, 29)), ("duplicate", 9, (7, 16))):
        cells = found[f"{kind}, 1 at once: requests"]
        assert all(float(figure) <= most for figure in cells[:1] + cells[1::2])
        cells = found[f"{kind}, 1 at once: scripts"]
        assert [int(float(count)) for count in cells[:1] + cells[1::2]] == list(scripts)


def test_a_checkout_beside_itself():
    """In turns, in processes of their own: both judge the same pages, and need the same bytes."""
    found = figures("--beside", BENCHMARK.parents[1], "--preset", "best", "--tables", "10")
    before, now, _ = map(float, found["bytes"])
    assert abs(before - now) < 0.1 * now
    for kind, at_once in product(("new", "duplicate", "refused"), (8, 64)):
        for clock in ("server", "client"):
            assert float(found[f"{kind}, {at_once} at once: {clock} CPU µs"][1]) > 0
