"""Pages of 1 to 100 tokens: unique ones are kept, equal ones are dropped, whatever the preset."""

import judging
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.judge.analysis import MIN_JUDGED_TOKENS
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import PRESETS
from scrapy_neardup.verdict import Decision, Reason

PARAMETERS = {name: Parameters(**preset) for name, preset in PRESETS.items()}
MIN_TOKENS = Parameters().min_tokens
OF_PAPER = PARAMETERS["paper"].min_tokens

presets = pytest.mark.parametrize("preset", PARAMETERS)
sizes = st.integers(MIN_JUDGED_TOKENS, 100)


def html(words, *, title="A title", image="/a.png", data="1"):
    return (
        f"<title>{title}</title><p>{' '.join(words)}</p>"
        f'<img src="{image}"><script type="application/json">{{"value": {data}}}</script>'
    )


def judged(preset, *pages):
    """Judge each page as one of its own, in order."""
    addressed = ((f"http://a.test/{n}", page) for n, page in enumerate(pages))
    return judging.judged(addressed, PARAMETERS[preset])


def words(count, first=0):
    return [f"w{number}" for number in range(first, first + count)]


@presets
@settings(max_examples=20)
@given(st.lists(sizes, min_size=2, max_size=12))
def test_pages_without_a_word_in_common_are_kept(preset, counts):
    pages = [html(words(count, 1000 * n)) for n, count in enumerate(counts)]
    assert {verdict.decision for verdict in judged(preset, *pages)} == {Decision.NEW}


@presets
@settings(max_examples=20)
@given(sizes, st.sampled_from([str.upper, str.title, lambda text: text.replace(" ", ", ")]))
def test_equal_pages_are_dropped_however_they_are_written(preset, count, written):
    plain = html(words(count))
    _, verdict = judged(preset, plain, html([written(" ".join(words(count)))]))
    if preset == "exact":  # every character counts
        wanted = Decision.NEW, Reason.UNMATCHED
    elif preset == "paper" and count < OF_PAPER:
        wanted = Decision.DUPLICATE, Reason.EQUAL
    else:
        wanted = Decision.DUPLICATE, Reason.NEAR
    assert (verdict.decision, verdict.reason) == wanted


OTHER = ({"title": "Another"}, {"image": "/b.png"}, {"data": "2"})


@presets
@settings(max_examples=20)
@given(st.integers(MIN_JUDGED_TOKENS, MIN_TOKENS - 1), st.sampled_from(OTHER))
def test_a_short_text_with_another_title_picture_or_data_is_kept(preset, count, other):
    _, verdict = judged(preset, html(words(count)), html(words(count), **other))
    assert verdict.decision is Decision.NEW


@pytest.mark.parametrize("preset", ["best", "compact"])
@settings(max_examples=20)
@given(sizes, st.sampled_from(OTHER[1:]))
def test_a_text_with_another_title_and_other_pictures_or_data_is_kept(preset, count, other):
    _, verdict = judged(preset, html(words(count)), html(words(count), **OTHER[0], **other))
    assert verdict.decision is Decision.NEW


@presets
@settings(max_examples=20)
@given(st.integers(MIN_JUDGED_TOKENS + 1, MIN_TOKENS - 1), st.data())
def test_a_short_text_with_another_word_is_kept(preset, count, data):
    text = words(count)
    place = data.draw(st.integers(0, count - 1))
    others = ([*text[:place], *word, *text[place + 1 :]] for word in (["another"], []))
    verdicts = judged(preset, html(text), *map(html, others))
    assert {verdict.decision for verdict in verdicts} == {Decision.NEW}


@settings(max_examples=30)
@given(st.integers(MIN_TOKENS, 48), st.data())
def test_of_48_words_no_inner_one_may_differ(count, data):
    """A word is in four shingles: of 45 at most 41 are shared, a resemblance of .84."""
    text = words(count)
    place = data.draw(st.integers(3, count - 4))
    _, verdict = judged("best", html(text), html([*text[:place], "another", *text[place + 1 :]]))
    assert verdict.decision is Decision.NEW


def test_without_evidence_a_short_page_and_a_longer_one_are_never_compared():
    verdicts = judged("paper", html(words(OF_PAPER - 1)), html(words(OF_PAPER)))
    assert {verdict.decision for verdict in verdicts} == {Decision.NEW}
