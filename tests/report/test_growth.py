"""Reports on the audits of hostile sites: what one costs grows with its lines alone."""

from functools import partial

import pytest
from growth import check_growth

from scrapy_neardup.report.columns import shown_drops
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
    assert sum(map(len, made.pieces({}))) > 0
    made.digest()
    return summary


@pytest.mark.parametrize("name", AUDITS)
def test_report(name):
    check_growth(lambda size: partial(report, AUDITS[name](size)), SIZE)


def test_which_drops_are_shown():
    """Half of the room is for one group, and there are as many others."""

    def chosen(size):
        summary = report(
            [
                *(line(k, "http://a/", of_id=0) for k in range(2 * size)),
                *(line(k, "http://a/", of_id=k) for k in range(1, size)),
            ]
        )
        assert len(shown_drops(summary, (), 2 * size)) == 2 * size
        return partial(shown_drops, summary, (), 2 * size)

    check_growth(chosen, SIZE)
