import base64
import hashlib
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.report.overview import inert, page

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
    made = "".join(page("A <b>", ["<p>"], scripts=["report"], data={"one": 1, "two": ["<"]}))
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', made)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind, element in ("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>"):
        [content] = re.findall(element, made, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "<title>A &lt;b&gt;</title>" in made
    assert not re.search(r"\son\w+=|javascript:|https?://", made)
