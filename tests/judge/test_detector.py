import pickle
import sys
from functools import partial

import judging
import pytest

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.judge.analysis import Analyser, page_id
from scrapy_neardup.judge.comparison import Rule, deciding
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.evidence import MAX_LABELS, Evidence
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.text import Content, parse_html
from scrapy_neardup.urls import Address
from scrapy_neardup.verdict import Candidate, Decision, Match, Page, Reason, Verdict

of_text = Content.of_text

LONG = " ".join(f"word{number}" for number in range(200))


def analysed(content, url="http://example.com/a", **settings):
    return Analyser(Parameters(**settings)).page(content, page_id=1, url=url)


def judged(*contents, **settings):
    """Judge each content as a page of its own host."""
    pages = ((f"http://h{number}.test/", content) for number, content in enumerate(contents))
    return judging.judged(pages, Parameters(**settings))


def kept_of(page):
    return Evidence.unpack(page.evidence, Parameters().sketch)


def test_what_a_title_says():
    def title(title, *headings):
        return kept_of(analysed(of_text(LONG, title, headings=headings))).segments

    assert title("") == frozenset()
    assert title("A") == title("A") != title("B")
    assert len({title("A"), title("A", "B"), title("A", "C"), title("A B C")}) == 4
    assert title("Chapter 19. Boost") == title("Chapter 21. Boost") != title("Chapter 19. Other")
    assert title("A - Site") == title("Site", "A") > title("A")
    assert title("A (Manual 11)") == title("A [Manual 17]") == title("A", "Manual 11") > title("A")


def test_evidence_has_room_for_a_menu_of_any_length():
    html = f"<div class=menu>{'menu ' * (MAX_LABELS + 1)}</div><p>{LONG}</p>"
    content = Analyser(Parameters()).read(parse_html(html.encode()))
    assert kept_of(analysed(content)).labels == MAX_LABELS


def test_an_address_is_in_the_evidence():
    address = Address.of("http://example.com/a/b?c=d")
    kept = kept_of(analysed(of_text(LONG), url="http://example.com/a/b?c=d"))
    assert (kept.host, kept.folder) == (address.folders[0], address.folders[-1])
    assert kept.path == address.path & 0xFFFFFFFF
    assert (kept.query, kept.name) == (address.query, address.name)


@pytest.mark.parametrize(("canonical", "is_other"), [
    ("", False), ("http://example.com/a/b", False), ("b", False), ("/a/c", True),
    ("http://other.example/a/c", False), ("http://[", False),
])  # fmt: skip
def test_a_page_is_looked_up_at_its_canonical_address_on_its_site(canonical, is_other):
    page = analysed(of_text(LONG, canonical=canonical), url="http://example.com/a/b")
    kept = kept_of(page)
    looked_up = Address.of("http://example.com/a/c" if is_other else "http://example.com/a/b").path
    assert (kept.has_canonical, page.features[-1]) == (is_other, looked_up)
    assert kept.path == looked_up & 0xFFFFFFFF


@pytest.mark.parametrize("rest", ["", LONG])
def test_a_page_is_not_told_apart_by_its_own_address(rest):
    def page(path):
        text = f"The requested page {path} could not be found. {rest}"
        content = of_text(text, f"404: {path}", headings=(path,))
        return analysed(content, url=f"http://example.com{path}")

    first, second = page("/one"), page("/two/two")
    assert first.fingerprint == second.fingerprint
    address = dict.fromkeys(("folder", "path", "name"), 0)
    one, other = (kept_of(each)._replace(**address) for each in (first, second))
    assert one == other


def test_clocks_count():
    """What looks like one may be goods: 12:30, 5 users, 128 GB."""
    pages = [parse_html(f"<p>{LONG}</p><p>Made at 12:{minute}</p>") for minute in (10, 59)]
    ours, theirs = (analysed(Analyser(Parameters()).read(page)) for page in pages)
    assert ours.known.rows != theirs.known.rows


def test_a_page_of_links_is_what_its_links_say():
    links = "".join(f"<li><a href={n}>{word}</a>" for n, word in enumerate(LONG.split()))
    page = analysed(Analyser(Parameters()).read(parse_html(f"<ul>{links}</ul><p>All words</p>")))
    assert len(page.text.row_shingles) == len(LONG.split()) + 1


@pytest.mark.parametrize("text", ["", " \n", "one two three four", "!? … —"])
def test_next_to_no_text_is_unjudged(text):
    (verdict,) = judged(of_text(text, title="whatever", images=("/a.png",)))
    assert (verdict.decision, verdict.reason) == (Decision.UNJUDGED, Reason.EMPTY)
    assert verdict.fingerprint is None


def test_min_tokens_is_the_boundary():
    text = " ".join(f"w{number}" for number in range(32))
    assert not analysed(of_text(text), method="simhash", min_resemblance=0.0).exact
    assert analysed(of_text(text), method="simhash", min_resemblance=0.0, min_tokens=33).exact
    assert not analysed(of_text(text), min_tokens=33).exact


@pytest.mark.parametrize(("scope", "name"), [
    ("all", ""), ("host", "a.example.co.uk"), ("domain", "example.co.uk"), ("language", " cy"),
    ("host+language", "a.example.co.uk cy"), ("domain+language", "example.co.uk cy"),
])  # fmt: skip
def test_scopes(scope, name):
    page = analysed(of_text(LONG, language="cy"), url="http://a.example.co.uk/x", scope=scope)
    assert page.scope == name


GERMAN = (
    "Die Seite ist auf Deutsch geschrieben, und das sagt sie nirgends, man muss sie lesen. " * 3
)


def test_the_language_of_a_page_that_declares_none_is_guessed():
    pytest.importorskip("py3langid")
    guessed = {"scope": "language", "detect_language": True}
    assert analysed(of_text(GERMAN), **guessed).scope == " de"
    assert analysed(of_text(GERMAN, language="cy"), **guessed).scope == " cy"
    assert analysed(of_text("zu kurz " * 12), **guessed).scope == " "
    assert analysed(of_text(GERMAN), scope="language").scope == " "
    analyser = pickle.loads(pickle.dumps(Analyser(Parameters(**guessed))))
    assert analyser.page(of_text(GERMAN), page_id=1, url=None).scope == " de"
    assert Parameters(**guessed).schema() != Parameters(scope="language").schema()


def test_a_language_is_not_guessed_for_nothing_nor_without_the_library(monkeypatch):
    with pytest.raises(ConfigurationError, match="NEARDUP_SCOPE is a language"):
        Parameters(detect_language=True, scope="host")
    monkeypatch.setitem(sys.modules, "py3langid", None)
    with pytest.raises(ConfigurationError, match=r"\[language\]"):
        Analyser(Parameters(detect_language=True, scope="language"))


def test_urls_are_redacted_hashed_or_left_out():
    secret = "http://user:password@example.com/a"
    assert analysed(of_text(LONG), url=secret).url == "http://example.com/a"
    assert analysed(of_text(LONG), url=secret, store_urls=False).url is None
    hashed = analysed(of_text(LONG), url=secret, store_urls="hash").url
    assert hashed.startswith("blake2b:")
    assert hashed == analysed(of_text(LONG), url="http://example.com/a", store_urls="hash").url


def test_a_secret_key_changes_every_fingerprint():
    for text in (LONG, "just a few short words"):
        pages = [analysed(of_text(text), hash_key=key) for key in (None, b"one", b"two")]
        assert len({page.fingerprint for page in pages}) == 3


@pytest.mark.parametrize("change", [
    {"shingle_size": 3}, {"weights": "tf"}, {"text": "full"}, {"ignore": (".ad",)},
    {"min_tokens": 10}, {"scope": "host"}, {"hash_key": b"secret"},
])  # fmt: skip
def test_the_schema_tells_fingerprints_apart(change):
    assert Parameters(**change).schema() != Parameters().schema()
    assert "secret" not in repr(Parameters(**change).schema())


def test_a_callable_is_recorded_by_name():
    for weights, name in ((partial(print), "functools.partial"), (pickle.dumps, "_pickle.dumps")):
        assert Parameters(weights=weights).schema()["weights"] == name


async def test_a_match_is_explained_by_its_own_candidate():
    """Another one was asked about before, and was withdrawn meanwhile."""

    class Raced:
        async def check_and_add(self, page, decide):
            decided = [decide(each) for each in (Candidate(7, 0), Candidate(8, 60))]
            assert all(each.is_same for each in decided)
            return Verdict.on(page, Reason.NEAR, Match(page_id=8, distance=60))

    verdict = await Detector(Analyser(Parameters()), Raced()).decide(Page(id=1, fingerprint=2))
    assert verdict.match.found == "features"


def test_page_ids_are_64_bit_and_stable():
    assert page_id(b"http://example.com/") == 0x6AD9D0C164122FB


def test_pages_without_evidence_may_be_one_within_the_distance():
    detector = Detector(Analyser(Parameters.of_preset("paper")), None)
    first, *others = (Page(id=n, fingerprint=bits) for n, bits in enumerate([0, 0, 7, 15]))
    assert [detector.repeats(first, other) for other in others] == [True, True, False]
    empty = Verdict(decision=Decision.UNJUDGED, reason=Reason.EMPTY, page_id=9)
    assert not detector.repeats(first, empty)


def test_without_evidence_the_distance_decides():
    made = deciding(Page(id=1, fingerprint=2), Parameters().matching)(Candidate(2, 3))
    assert (made.is_same, made.rule) == (True, Rule.WITHIN_K)
