"""Pages that are confirmed by sketches: what the presets drop and keep."""

import random
from dataclasses import replace

import judging
import pytest
from judging import words

from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.text import Content, Extractor, parse_html
from scrapy_neardup.verdict import Decision

of_text = Content.of_text

BEST = Parameters(**PRESETS["best"])
COMPACT = Parameters(**PRESETS["compact"])
PAPER = Parameters(**PRESETS["paper"])


KNOWN = [of_text(" ".join(words(seed, 100)), title=f"other{seed}") for seed in range(-9, 0)]
"""Pages after which a site is known."""


def judged(parameters, *given, uri="memory:"):
    """Judge these contents, or texts of these words; return a verdict for each."""
    contents = (each if isinstance(each, Content) else of_text(" ".join(each)) for each in given)
    pages = ((f"http://a.example/{n}", content) for n, content in enumerate(contents))
    return judging.judged(pages, parameters, uri)


@pytest.fixture(params=["memory:", "sqlite"])
def uri(request, tmp_path):
    return f"sqlite:{tmp_path / 'pages'}" if request.param == "sqlite" else request.param


@pytest.mark.parametrize("method", ["minwise", "both"])
def test_a_resemblance_beyond_the_fingerprint_is_found_and_told(uri, method):
    text = words(1, 600)
    changed = text.copy()
    changed[300:305] = words(2, 5)  # 8 of 597 shingles on either side
    changed[100:103] = words(3, 3)
    *_, verdict = judged(replace(BEST, method=method), *KNOWN, text, changed, uri=uri)
    assert verdict.is_duplicate
    shared = 597 - 8 - 6
    exact = shared / (2 * 597 - shared)
    assert verdict.match.resemblance == pytest.approx(exact, abs=0.03)
    assert verdict.match.count == 1
    assert "resemblance" in verdict.explain()


@pytest.mark.parametrize("parameters", [BEST, COMPACT], ids=["best", "compact"])
def test_what_only_fingerprints_take_for_alike_is_kept(uri, parameters):
    text = words(1, 60)

    def changed(seed):
        """Return the text with another word in place of one in ten."""
        places = random.Random(seed).sample(range(60), 6)
        return [f"x{seed}-{n}" if n in places else word for n, word in enumerate(text)]

    verdicts = judged(parameters, text, *map(changed, range(400)), uri=uri)
    assert {verdict.decision for verdict in verdicts} == {Decision.NEW}


@pytest.mark.parametrize(("menus", "texts"), [
    # A restaurant's menu may be its page: much that only this page has is no boilerplate.
    ([words(seed, 100) for seed in (2, 3)], [words(1, 100)] * 2),
    ([words(1, 1000)] * 2, [words(seed, 40) for seed in (2, 3)]),  # no reason to drop by itself
])  # fmt: skip
def test_what_is_named_as_boilerplate_makes_no_repetition(menus, texts):
    html = "<div class=menu>{}</div><p>{}</p>"
    pages = [html.format(*map(" ".join, each)) for each in zip(menus, texts, strict=True)]
    contents = [Extractor().extract(parse_html(page.encode())) for page in pages]
    for known in ([], KNOWN):
        verdicts = judged(BEST, *known, *contents)[-2:]
        assert [verdict.decision for verdict in verdicts] == [Decision.NEW, Decision.NEW]


def test_boilerplate_that_no_name_gives_away_is_learnt():
    static = words(0, 1000)
    texts = [[*static, *words(seed, 300 if seed < 13 else 40)] for seed in range(1, 40)]
    pages = [of_text(" ".join(text), title="A page") for text in texts]
    assert [verdict.decision for verdict in judged(BEST, *pages)] == [Decision.NEW] * len(pages)
    # Before it is learnt such pages have to be equal.
    assert not any(verdict.is_duplicate for verdict in judged(BEST, *pages[12:]))
    # A page with enough of its own, again but for one word, is found all the same.
    again = of_text(" ".join([*texts[4][:-1], "other"]), title="A page")
    assert judged(BEST, *pages, again)[-1].is_duplicate


def test_next_to_nothing_but_boilerplate_must_agree():
    static = words(0, 300)
    known = [[*static, *words(seed, 100)] for seed in range(1, 10)]
    short = [*static, *words(11, 15)]
    assert judged(BEST, *known, short, short)[-1].is_duplicate
    assert judged(BEST, *known, short, [*short[:-1], "other"])[-1].decision is Decision.NEW
    long = [*static, *words(11, 60)]
    assert judged(BEST, *known, long, [*long[:-1], "other"])[-1].is_duplicate


@pytest.mark.parametrize("title", ["Page {}", ""])
def test_a_few_words_among_boilerplate_are_told_apart_by_title_or_text(title):
    static = words(0, 300)
    known = [[*static, *words(seed, 100)] for seed in range(1, 10)]
    short = [of_text(" ".join([*static, *words(seed, 3)]), title=title.format(seed))
             for seed in range(100, 400)]  # fmt: skip
    found = [verdict.decision for verdict in judged(BEST, *known, *short, *short[100:])]
    assert {*found[: len(known) + 300]} == {Decision.NEW}
    # Of so many that are alike not all are compared.
    assert found[len(known) + 300 :].count(Decision.DUPLICATE) >= 100
