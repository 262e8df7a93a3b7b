"""Reports on large audits: how long they take to make, and how long to open and to filter.

An audit of a million verdicts is made up and reported on, in a process of its own (seconds and
peak memory); then one with 100,000 drops is opened in headless Chromium, where one is installed:
milliseconds to the first paint and to the end of loading, the median of three, and from a key in
the search field, or a click on a bar, to the next frame. Counts are compared with those of the
audit.
"""

import json
import random
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from harness import arguments, scratch

KEPT_SHARE = 0.44
COMMAND = (sys.executable, "-c", "from scrapy_neardup.cli import main; main()", "report")
SEARCHES = "a", "article", "product/1", "sid forum", ""
PAINTED = """
return [performance.getEntriesByType('paint')[0]?.startTime,
  performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd]
"""
FILTER = """
const [selector, at, value, done] = arguments, field = document.querySelectorAll(selector)[at];
const start = performance.now();
field.value = value;
field.dispatchEvent(new Event(value == null ? "click" : "input"));
requestAnimationFrame(() => setTimeout(() =>
  done([performance.now() - start, document.querySelector("#tally").textContent])));
"""


def write_audit(path: Path, lines: int, drops: int | None = None) -> int:
    """Write an audit of `lines` verdicts, or of `drops` drops; return how many drops it has."""
    source = random.Random(1)
    words = ["".join(source.choices("abdeiklmnorst", k=6)) for _ in range(2_000)]
    start = datetime(2026, 1, 31, tzinfo=UTC)
    kept: list[tuple[str, str, str]] = []
    dropped = number = 0
    with path.open("w") as file:
        while number < lines if drops is None else dropped < drops:
            line = {"time": (start + timedelta(milliseconds=20 * number)).isoformat(),
                    "id": f"{number:016x}", "fingerprint": f"{number:016x}",
                    "tokens": source.randrange(32, 2_000)}  # fmt: skip
            if not kept or source.random() < KEPT_SHARE:
                title = " ".join(source.choices(words, k=5))
                kind = source.choice(["product/{}.html", "article/{}", "forum/{}?page=2"])
                page = f"https://{source.choice(words[:3])}.example/{kind.format(number)}"
                kept.append((page, line["id"], title))
                line |= {"page": page, "verdict": "new", "reason": "unmatched", "action": "keep"}
            else:
                of, of_id, title = kept[int(len(kept) * source.random() ** 3)]
                dropped += 1
                line |= {
                    "page": f"{of}{'&' if '?' in of else '?'}sid={number:x}", "of": of,
                    "of_id": of_id, "verdict": "duplicate", "reason": "near", "action": "drop",
                    "distance": source.choice([0, 0, 1, 3]), "threshold": 0.9,
                    "resemblance": round(1 - 0.1 * source.random(), 4),
                    "rule": source.choice(["alike", "same-core"]),
                }  # fmt: skip
            file.write(json.dumps(line | {"title": title, "headings": [title]}) + "\n")
            number += 1
    return dropped


def made(audit: Path, page: Path) -> float:
    start = time.perf_counter()
    subprocess.run([*COMMAND, audit, "--output", page], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def opened(page: Path, drops: int) -> None:
    import headless

    browser = headless.start()
    try:
        paints, loads = [], []
        for _ in range(3):
            browser.get(page.as_uri())
            paint, load = browser.execute_script(PAINTED)
            paints.append(paint or load)
            loads.append(load)
        print(f"first paint {median(paints):8.0f} ms")
        print(f"loaded      {median(loads):8.0f} ms")
        for search in SEARCHES:
            taken, shown = browser.execute_async_script(FILTER, "#search", 0, search)
            print(f"search {search!r:12} {taken:8.0f} ms   {shown}")
        assert shown.startswith(f"{drops:,} drops"), shown
        for bar in range(3):
            taken, shown = browser.execute_async_script(FILTER, "[data-filter]", bar, None)
            print(f"bar {bar}          {taken:8.0f} ms   {shown}")
    finally:
        browser.quit()


def main() -> None:
    import headless

    quick = {"lines": 10_000, "drops": 1_000}
    options = arguments(__doc__, lines=1_000_000, drops=100_000, quick=quick)
    with scratch() as folder:
        audit, page = folder / "audit.jsonl", folder / "report.html"
        found = write_audit(audit, options.lines)
        seconds = made(audit, page)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{options.lines:,} lines, {found:,} drops, {audit.stat().st_size / 1e6:,.0f} MB:"
              f" {seconds:.1f} s, {peak:,.0f} MB;"
              f" page of {page.stat().st_size / 1e6:.1f} MB")  # fmt: skip
        if lacking := headless.missing():
            print(f"not opened in a browser: {lacking}")
            return
        assert write_audit(audit, options.lines, options.drops) == options.drops
        made(audit, page)
        print(f"{options.drops:,} drops in Chromium, page of {page.stat().st_size / 1e6:.1f} MB:")
        opened(page, options.drops)


if __name__ == "__main__":
    main()
