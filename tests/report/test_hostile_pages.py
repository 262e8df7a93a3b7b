"""What sites may put into titles, addresses and texts neither runs in the report nor breaks it."""

import base64

import headless
import pytest
from audits import Audit

if lacking := headless.missing():
    pytest.skip(f"the report isn't opened in a browser: {lacking}", allow_module_level=True)

SCRIPT = "<script>document.title = 'owned'</script>"
HOSTILE = (
    SCRIPT,
    f"</script>{SCRIPT}",
    "<!--<script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    '" onmouseover="document.title = 1" x="',
    "' style='position:fixed;inset:0;background:red'",
    "</style><style>* { display: none }</style>",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)}",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \x00\x07\x1b[31m",
    "]]></bdi><h1>heading</h1>",
)
ADDRESSES = (
    "javascript:document.title='owned'",
    " javascript:document.title='owned'",
    "JaVaScRiPt:document.title='owned'",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "http:javascript:alert(1)",
    "//evil.example/x",
    "https://evil.example/\"><script>document.title='owned'</script>",
    "https://evil.example/\u202egnp.exe",
)


def hostile_audit():
    audit = Audit()
    texts = [*HOSTILE, "x" * 1_000_000, " ".join(HOSTILE)]
    for number, text in enumerate(texts):
        address = ADDRESSES[number % len(ADDRESSES)]
        kept = audit.kept(address, title=text[:200], headings=[text[:200]], text=f"{text} a b c")
        audit.drop(
            address + "#2", kept, title=text[::-1][:200], text=f"{text} a b d", rule=text[:99],
            found=text[:99], detail=text[:99], learnt=[text[:99]], reason=text[:99],
            threshold=0.97, omitted=[[0, 9, text[:30]]],
        )  # fmt: skip
        audit.unjudged(f"https://evil.example/{text[:99]}?{text[:99]}=1", reason=text[:99])
    audit.orphaned(audit.entries[0], [*ADDRESSES, *HOSTILE])
    for kept, text in zip(audit.entries[::3], texts, strict=False):
        audit.differ(kept, text)
    return audit


def test_nothing_from_a_hostile_page_runs_or_breaks_it(opened):
    page = opened.open(hostile_audit())
    assert page.run("return typeof window.owned") == "undefined"
    drops = len(HOSTILE) + 2
    assert page.text("#tally") == f"{drops} drops in {drops} groups"
    page.run("document.querySelectorAll('.drop').forEach((drop) => { drop.open = true; })")
    page.wait(lambda: len(page.find(".difference")) == drops)
    assert len(page.find(".drop:has(.side del)")) == drops
    assert page.run("const e = document.documentElement;return e.scrollWidth <= e.clientWidth")
    assert page.browser.title == "Near-duplicate report"
    assert page.find("img, iframe, object, embed, main script, main style, main h1 h1") == []
    attributes = "return [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    assert not [name for name in page.run(attributes) if name.startswith("on")]
    for link in page.run("return [...document.links].map(a => a.getAttribute('href'))"):
        assert link.startswith("https://evil.example/")
    assert not set(page.run("return document.body.innerText")) & set("\u202e\u2066\x00\x07\x1b")
    assert "U+202E" in page.run("return document.body.textContent")
    assert page.run("return document.styleSheets.length") == 1


def test_texts_that_are_no_texts_are_said_to_be_unreadable(opened):
    audit = Audit()
    kept = audit.kept("https://a.example/1", text="a b c")
    audit.drop("https://a.example/2", kept, text="a b d")["text"] = "bm90IHpsaWI="
    page = opened.pair(audit)
    assert "can't be read" in page.text(".texts")


def test_a_text_that_unpacks_to_much_more_is_cut_off(opened):
    audit = Audit()
    kept = audit.kept("https://a.example/1", text="a " * 20_000_000)
    assert len(base64.b64decode(kept["text"])) < 64 * 1024
    audit.drop("https://a.example/2", kept, text="a b d")
    page = opened.pair(audit)
    assert "1,996,000 words" in page.text(".side:first-child")
