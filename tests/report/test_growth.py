"""Reports on the audits of hostile sites: what one costs grows with its lines alone."""

from functools import partial

import pytest
from growth import check_growth

from scrapy_neardup.report.overview import report_page
from scrapy_neardup.report.reportpage import Report
from scrapy_neardup.report.summary import Summary

SIZE = 4_000


def line(number, page, **keys):
    return {
        "time": float(number), "page": page, "id": number + 1, "verdict": "duplicate",
        "reason": "near", "action": "drop", "of": None, "of_id": 1, "distance": 1,
        "resemblance": 0.9, "tokens": 9, **keys,
    }  # fmt: skip


AUDITS = {
    "one group": lambda n: [line(k, f"http://a/{k}") for k in range(n)],
    "as many groups": lambda n: [line(k, f"http://a/{k}", of_id=k) for k in range(n)],
    "one group and many": lambda n: [line(k, f"http://a/{k}", of_id=k % 2 * k) for k in range(n)],
    "hosts": lambda n: [line(k, f"http://h{k}/", verdict="new") for k in range(n)],
    "patterns": lambda n: [line(k, f"http://a/{'xy' * (k % 99)}/{k:x}?k{k}") for k in range(n)],
    "reasons": lambda n: [
        line(k, "http://a/", verdict="unjudged", reason=f"{k}") for k in range(n)
    ],
    "rules": lambda n: [line(k, "http://a/", rule=f"{k}", learnt=[f"{k}"] * 99) for k in range(n)],
    "addresses": lambda n: [line(k, "http://a/" + "a/" * n, of="http://a/b/") for k in range(20)],
}


def report(entries):
    summary = Summary()
    for number, entry in enumerate(entries):
        summary.add(entry, number)
    made = Report(summary, ["audit.jsonl"])
    assert made.lines == []
    assert sum(map(len, report_page(made, {}))) > 0
    made.digest()
    return summary


@pytest.mark.parametrize("name", AUDITS)
def test_report(name):
    check_growth(lambda size: partial(report, AUDITS[name](size)), SIZE)
