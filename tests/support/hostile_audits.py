"""Audit files that no crawl wrote: values of other types and sizes, torn and nested lines."""

import json
import random

from audits import shop

from scrapy_neardup.report.overview import report_page
from scrapy_neardup.report.reportpage import Report, text_of
from scrapy_neardup.report.summary import Summary, entries

_NUMBERS = [None, True, 0, -1, 10**400, 1e308, -1e308, float("nan"), float("inf"), 0.5, 1]
_TEXTS = [
    None, "", "x", "</script><script>alert(1)", "\ud800", "\0", "é" * 3_000, "http://[", "//",
    "http://a/" + "/" * 3_000, "?" * 3_000, "constructor", "__proto__",
]  # fmt: skip
_LISTS = [None, [], [1, 2], [None] * 99, [[0, 9, "links"]], [[9, 0, ""]], [[-1, 10**400]]]
_TIMES = ["9999-12-31T23:59:59+00:00", "0001-01-01", "2024-01-01", "x"]
_LIKELY = {
    "time": _TIMES,
    "event": [None, "orphaned", "begun", "refetched", "experiment", "x"],
    "verdict": ["new", "duplicate", "seen", "unjudged", "x"],
    "id": ["0", "-1", "f" * 99, "x"],
    "of_id": ["0", "-1", "f" * 99, None],
    "settings": [{}, {"a": "b" * 3_000}, {"": [1]}],
    **dict.fromkeys(
        ["page", "of", "title", "rule", "found", "reason", "action", "detail", "kind"], _TEXTS
    ),
    **dict.fromkeys(
        ["distance", "resemblance", "threshold", "tokens", "links", "count"], _NUMBERS
    ),
    **dict.fromkeys(["headings", "learnt", "omitted", "pages", "selectors"], _LISTS),
    "text": [*_TEXTS, "eJwDAAAAAAE="],
}
_DEPTHS = [1, 3, 300, 900, 100_000]


def hostile_audit(seed: int) -> list[bytes]:
    chance = random.Random(seed)
    audit = shop(products=chance.randrange(1, 4), copies=chance.randrange(3))
    if chance.random() < 0.5:
        audit.orphaned(audit.entries[0], ["http://a/"])
    if chance.random() < 0.5:
        audit.begun(NEARDUP_STORE="memory:")
    if chance.random() < 0.5:
        audit.refetched("http://a/", "p.x", "</script>")
        audit.experiment("</script>", "http://a/", "<b>", of="http://b/")
    changed = [dict(entry) for entry in audit.entries]
    for _ in range(chance.randrange(4)):
        key = chance.choice([*_LIKELY])
        values = _LIKELY[key] if chance.random() < 0.9 else [*_TEXTS, *_NUMBERS, *_LISTS]
        chance.choice(changed)[key] = chance.choice(values)
    lines = [bytearray(json.dumps(entry).encode() + b"\n") for entry in changed]
    if chance.random() < 0.1:
        line, depth = chance.choice(lines), chance.choice(_DEPTHS)
        line[:1] = b'{"%s": %s, ' % (chance.choice([b"learnt", b"x"]), b"[" * depth + b"]" * depth)
    if chance.random() < 0.1:
        line = chance.choice(lines)
        line[chance.randrange(len(line))] = chance.randrange(256)
    return list(map(bytes, lines))


def report_of(lines: list[bytes]) -> str:
    summary = Summary()
    for number, entry in enumerate(entries(lines, "a.jsonl")):
        summary.add(entry, number)
    report = Report(summary, ["a.jsonl"])
    wanted = set(report.lines)
    texts = {
        number: text_of(entry)
        for number, entry in enumerate(entries(lines, "a.jsonl"))
        if number in wanted
    }
    report.digest()
    return "".join(report_page(report, texts))
