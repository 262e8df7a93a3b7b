"""What a report shows without a script."""

from audits import Audit, shop
from hostile_audits import report_of
from lxml.html import fromstring


def shown(audit, selector):
    page = fromstring(report_of(audit.lines()))
    return [" ".join(each.text_content().split()) for each in page.cssselect(selector)]


def test_the_crawl_its_settings_and_what_deserves_a_look():
    audit = shop(products=1, copies=4)
    audit.begun(NEARDUP_SCOPE="'host'", NEARDUP_DENY="['<b>']")
    audit.differ(audit.entries[0], "a few words (Köln, <b>Bonn</b>)")
    audit.refetched("https://shop.example/0", "div.others", "p")
    audit.refetched("https://shop.example/1", "div.others", "p.</p>")
    assert shown(audit, ".about summary") == ["The crawl: spider products, preset best"]
    assert {"version0.1.0", "scrapy2.19.0"} < {*shown(audit, ".about dl div")}
    assert shown(audit, ".about pre") == ["NEARDUP_SCOPE = 'host' NEARDUP_DENY = ['<b>']"]
    assert shown(audit, ".look h3") == [
        "Pages that differ in numbers or a few words 1", "Blocks that change by themselves 1",
    ]  # fmt: skip
    assert shown(audit, ".look pre") == ['NEARDUP_IGNORE = ["div.others"]']
    kept = "https://shop.example/product/0.html"
    assert shown(audit, ".look li li") == [
        f"4 pages that repeat {kept}: a few words (Köln, <b>Bonn</b>)",
        "div.others on 2 pages of 2",
    ]


def test_long_lists_are_folded_and_what_is_beyond_them_is_summed_up():
    audit = Audit()
    for number in range(210):
        audit.kept(f"https://h{number}.example/")
    hosts = shown(audit, ".breakdowns section:first-child li")
    assert len(hosts) == 201
    assert hosts[-1] == "10 others10"
    assert shown(audit, ".breakdowns summary")[0] == "Show 193 more"
