"""The table that ``make stress`` ends with: what was tried, and what was lost."""

HEAD = ("tried", "times", "both kept", "for nothing", "lost", "errors", "longest, s")


def row(what, times, *, both=0, nothing=0, lost=0, errors=0, longest=0.0) -> list[str]:
    """Return what was tried, how often, and what came of it; of a test, by `record_property`."""
    counts = (both, nothing, lost, errors)
    return [what, f"{times:,}", *(f"{count:,}" for count in counts), f"{longest:.1f}"]


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
