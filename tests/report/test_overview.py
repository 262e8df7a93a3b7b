"""What a report shows without a script, and that nothing in it runs."""

import base64
import hashlib
import json
import re

from audits import Audit, shop
from hostile_audits import report_of
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import fromstring

from scrapy_neardup.report.overview import inert


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_inert_data_is_the_data_and_ends_no_element(value):
    text = inert(value)
    assert "<" not in text
    expected = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    assert json.loads(text) == json.loads(expected)


def test_the_policy_names_what_the_page_runs_and_nothing_else():
    made = report_of(shop(products=1, copies=2).lines())
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', made)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind, element in ("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>"):
        [content] = re.findall(element, made, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.search(r"<[^>]*\s(on\w+|src)=|<link|javascript:|@import|url\(", made)
