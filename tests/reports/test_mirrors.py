"""Folders that repeat others, found from pairs of addresses."""

from audits import Audit

from scrapy_neardup.reports.addresses import FEWEST, Mirror, mirrors
from scrapy_neardup.reports.auditlines import entries
from scrapy_neardup.reports.summary import Summary


def found(audit):
    summary = Summary()
    for line, entry in enumerate(entries(audit.lines(), "audit")):
        summary.add(entry, line)
    return mirrors(summary)


def pairs(audit, number, folder, of):
    for each in range(number):
        kept = audit.kept(f"{of}{each}/index.html?a=1")
        audit.drop(f"{folder}{each}/index.html?a=1", kept)


def test_the_longest_common_end_of_the_addresses_names_the_folders():
    audit = Audit()
    pairs(audit, FEWEST, "https://a.example/doc/new/", "https://a.example/doc/old/")
    pairs(audit, FEWEST + 1, "https://b.example/", "https://a.example/")
    audit.kept("https://a.example/doc/new/more.html")
    audit.kept("https://b.example/x/y")
    assert found(audit) == [
        Mirror("https://b.example/", "https://a.example/", FEWEST + 1, FEWEST + 2),
        Mirror("/doc/new/", "/doc/old/", FEWEST, FEWEST + 1),
    ]


def test_few_pages_and_other_names_say_nothing():
    audit = Audit()
    pairs(audit, FEWEST - 1, "https://a.example/new/", "https://a.example/old/")
    kept = audit.kept("https://a.example/page")
    for number in range(2 * FEWEST):
        audit.drop(f"https://a.example/page?{number}", kept)
    audit.drop("a path", kept)
    assert found(audit) == []
