"""What ``make stress`` tried and what was lost, as one table at the end of the run."""

from __future__ import annotations

import pytest
from crawl_fixtures import crawl, site, worker  # noqa: F401, fixtures
from tried import HEAD, row


@pytest.fixture
def tried(record_property):
    """Note a row of the table; see `row`."""

    def note(what, times, **counts):
        record_property("tried", row(what, times, **counts))

    return note


def pytest_terminal_summary(terminalreporter):
    rows = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "tried" and report.when == "call"
    ]
    if rows:
        widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
        terminalreporter.section("what was tried, and what was lost")
        for first, *others in (HEAD, *sorted(rows)):
            cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
            terminalreporter.write_line("  ".join([first.ljust(widths[0]), *cells]))
