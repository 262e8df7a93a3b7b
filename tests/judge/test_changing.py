"""What is learnt from two responses to one request, and what they don't show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import prose, sketch_of

from scrapy_neardup.judge import changing
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.changing import EVERYWHERE, MAX_UNASKED, SHOWN, Changing
from scrapy_neardup.judge.evidence import DomPath, Evidence
from scrapy_neardup.judge.knowledge import MEDIA, NOTHING, Excluded, Folders
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.text import parse_html

PLACE, FOLDER = 77, 7
CHANGED, SAME, OF_NAMED = 12, 14, 13
"""DOM paths: those of text are even."""


def made():
    folders = Folders()
    folders.used(FOLDER).place = PLACE
    return Changing(folders)


def evidence(seed=0, folder=FOLDER, **more):
    """A response whose text at two DOM paths is that of the seed."""
    rows = {CHANGED: DomPath(seed % 1000 + 1, 3), OF_NAMED: DomPath(seed % 1000 + 1, 3)}
    paths = {**rows, SAME: DomPath(7, 3)}
    return Evidence(**{"folder": folder, "segments": frozenset({1}), "paths": paths} | more)


def text(*own, common=100):
    """A text with `common` shingles, and some that are its own."""
    shared = np.random.default_rng(1).integers(1, 1 << 40, common, np.uint64) << np.uint64(1)
    shingles = np.unique(np.concatenate([shared, np.array(own, np.uint64)]))
    bits = np.zeros(len(shingles), np.uint8)
    return Text(shingles, bits, shingles, bits)


def learn_pair(rule, place, ours, theirs, texts):
    """Learn from two responses, whose texts have the DOM paths of the evidence."""
    texts = (
        each._replace(standing=it.paths) for each, it in zip(texts, (ours, theirs), strict=True)
    )
    return rule.learn_response(place, ours, theirs, tuple(texts))


def learn(rule, seed, place=PLACE, **differs):
    """Learn from two responses that differ at the paths that change, and in two shingles."""
    texts = text(2 * seed), text(2 * seed + 1)
    return learn_pair(rule, place, evidence(seed), evidence(seed + 500, **differs), texts)


def learn_same(rule, times, place=PLACE):
    """Learn as often that two responses are equal."""
    for seed in range(1, times + 1):
        learn_pair(rule, place, evidence(seed), evidence(seed), (text(), text()))


def known(rule, folder=FOLDER):
    return rule.exclude(evidence(folder=folder)).paths


def test_a_path_changes_if_it_did_in_two_pairs_of_responses():
    rule = made()
    assert rule.exclude(evidence()) is NOTHING
    for seed in range(1, SHOWN):
        assert not learn(rule, seed)
        assert not known(rule)
    assert learn(rule, SHOWN)
    assert known(rule) == {CHANGED, OF_NAMED}
    assert rule.exclude(evidence()).by == ("changing",)
    assert not learn(rule, 9)


@pytest.mark.parametrize("stayed", [SHOWN, SHOWN + 1])
def test_it_must_have_changed_as_often_as_it_stayed_the_same(stayed):
    rule = made()
    learn_same(rule, stayed)
    for seed in range(1, SHOWN + 1):
        learn(rule, seed)
    assert known(rule) == ({CHANGED, OF_NAMED} if stayed == SHOWN else set())


def test_a_path_that_only_one_response_has_changed():
    rule = made()
    for _ in range(SHOWN):
        without = evidence()._replace(paths={SAME: DomPath(7, 3)})
        learn_pair(rule, PLACE, evidence(), without, (text(2), text()))
    assert known(rule) == {CHANGED, OF_NAMED}


@pytest.mark.parametrize("other", [
    {"segments": frozenset({2})}, {"segments": frozenset()}, {"segments": frozenset({1, 2})},
])  # fmt: skip
def test_another_page_as_the_second_response_shows_nothing(other):
    rule = made()
    for seed in range(5):
        assert not learn(rule, seed, **other)
    assert rule.exclude(evidence()) is NOTHING
    assert not rule.dump(complete=True)


def test_a_response_with_next_to_nothing_in_common_shows_nothing():
    rule = made()
    for common in (0, 19):
        texts = text(*range(2, 2 * (100 - common) + 2, 2), common=common), text()
        assert not learn_pair(rule, PLACE, evidence(1), evidence(2), texts)
        assert not rule.dump(complete=True)
    texts = text(*range(2, 162, 2), common=20), text(common=20)
    learn_pair(rule, PLACE, evidence(1), evidence(2), texts)
    assert rule.dump(complete=True)


def test_an_empty_page_shows_nothing_that_counts():
    rule, empty = made(), Evidence(folder=FOLDER)
    for _ in range(3):
        learn_pair(rule, PLACE, empty, empty, (text(common=0), text(common=0)))
    assert rule.exclude(evidence()) is NOTHING


def test_media_change_as_text_does():
    rule = made()
    for number in range(SHOWN):
        assert not rule.exclude(evidence()).media
        pair = evidence(1, embedded=number), evidence(1, embedded=number + 9)
        learn_pair(rule, PLACE, *pair, (text(), text()))
    found = rule.exclude(evidence())
    assert (found.media, found.paths) == (True, frozenset())
    learn_same(rule, SHOWN + 1)
    assert not rule.exclude(evidence()).media


def test_all_shingles_that_only_one_response_has_do_not_count_from_the_first_pair_on():
    rule = made()
    for seed, shingles in ((5, [10, 11]), (6, [10, 11, 12, 13])):
        learn(rule, seed)
        [shared] = rule.exclude(evidence()).shared
        assert shared.shingles.tolist() == shingles
        expected = sketch_of(np.array(shingles, np.uint64), 512, 0).bits
        assert shared.sketch(512, 0) == expected  # it isn't that of before


def test_what_changed_at_ten_places_and_stayed_the_same_nowhere_changes_everywhere():
    rule = made()
    for place in range(EVERYWHERE):
        assert not known(rule)
        learn(rule, 5, place=100 + place)
    assert known(rule) == {CHANGED, OF_NAMED}
    long = evidence(paths={CHANGED: DomPath(1, MAX_UNASKED + 1)})
    assert not rule.exclude(long).paths  # nothing was asked at its place
    learn_same(rule, 1, place=200)
    assert not known(rule)


def test_each_place_has_its_own():
    rule = made()
    rule.folders.used(8).place = 88
    rule.folders.used(9).place = PLACE
    for seed in range(SHOWN):
        learn(rule, seed)
    assert known(rule) == known(rule, folder=9) == {CHANGED, OF_NAMED}
    for folder in 8, 10:  # nobody has met 10
        assert rule.exclude(evidence(folder=folder)) == Excluded(tells=known(rule))


def test_two_pairs_show_it_though_they_are_of_two_places():
    rule = made()
    rule.folders.used(8).place = 88
    learn(rule, 1)
    learn_same(rule, 1, place=88)
    learn(rule, 2, place=99)
    assert known(rule) == {CHANGED, OF_NAMED}
    assert not known(rule, folder=8)
    assert known(rule, folder=99) == {CHANGED, OF_NAMED}


@pytest.mark.parametrize("changes", [True, False])
def test_what_changes_elsewhere_is_doubtful_until_a_response_of_the_place_shows_it(changes):
    rule = made()
    rule.folders.used(8).place = 88
    there, partly = evidence(folder=8), evidence(folder=8, paths={SAME: 1, CHANGED: 1})
    assert not rule.untested(there)
    for seed in range(SHOWN):
        learn(rule, seed)
    assert not rule.untested(evidence())
    assert rule.untested(there) == {CHANGED, OF_NAMED}
    assert rule.untested(partly) == {CHANGED}
    if changes:
        learn(rule, 1, place=88)
    else:
        learn_same(rule, 1, place=88)
    assert not rule.untested(there)
    assert known(rule, folder=8) == ({CHANGED, OF_NAMED} if changes else set())


def test_pictures_that_change_elsewhere_are_doubtful():
    rule = made()
    for seed in range(SHOWN):
        learn(rule, seed, embedded=9)
    others = (evidence(folder=8, embedded=embedded) for embedded in (0, 9))
    assert [*map(rule.untested, others)] == [{CHANGED, OF_NAMED}, {CHANGED, OF_NAMED, MEDIA}]


def test_pictures_that_ever_changed_do_not_stay_because_other_pages_lack_them():
    rule = made()
    learn_same(rule, 3)
    stay = lambda: [rule.stays(evidence(), path) for path in (CHANGED, MEDIA)]
    assert stay() == [True, True]
    learn(rule, 1, embedded=9)
    assert stay() == [True, False]


def test_what_another_crawler_has_tested_is_not_doubtful():
    rule, other = made(), made()
    for seed in range(SHOWN):
        learn(rule, seed)
    learn_same(other, 1, place=88)
    rule.folders.used(8).place = 88
    rule.add_others([other.dump(complete=False)])
    assert not rule.untested(evidence(folder=8))


def test_of_pages_in_doubt_the_first_is_asked_for_and_later_ones_ever_less_often():
    rule = made()
    asked = []
    for page in range(1, 100):
        rule.doubt(page, evidence())
        asked += [page] if rule.questions.asks_again(page) else []
        assert not rule.questions.asks_again(page)
    assert asked == [1, 8, 64]


def test_together_two_crawlers_know_what_neither_does():
    first, second = made(), made()
    learn(first, 1)
    learn(second, 2)
    second.add_others([first.dump(complete=False)])
    assert known(second) == {CHANGED, OF_NAMED}
    assert not known(first)
    # They also contradict each other.
    learn_same(first, 3)
    second.add_others([first.dump(complete=False)])
    assert not known(second)


def test_a_dump_that_is_none_is_refused():
    for dump in ([1], [[1, 2]], [["x", [[], []]]], [[1, [[[1, 2]], []]]], [[1, [[], [-1]]]]):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            made().restore(dump)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 400)), max_size=40))
def test_what_is_held_is_bounded(pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changing, "_MAX_PATHS", 8)
        patch.setattr(changing, "_MAX_SHINGLES", 20)
        rule = made()
        for place, seed in pairs:
            paths = {2 * (seed + n): DomPath(n, 1) for n in range(8)}
            other = {path: DomPath(at.rows + 1, 1) for path, at in paths.items()}
            own = text(*range(2 * seed, 2 * seed + 30, 2)), text()
            both = evidence()._replace(paths=paths), evidence()._replace(paths=other)
            learn_pair(rule, place, *both, own)
            assert rule.nbytes <= 64 * (256 * 9 + 160)
        dump = rule.dump(complete=True)
        assert len(dump) <= 64
        assert all(len(counts) <= 8 and len(shingles) <= 20 for _, (counts, shingles) in dump)
        # Places used last are kept, those used long ago are not.
        used = dict.fromkeys(place for place, _ in reversed(pairs))
        assert {place for place, *_ in dump} == set(list(used)[:64])


def learnt(page):
    """Return what is known once some pages, of (number, visit), were requested twice."""
    rule = Changing(Folders())
    for number in range(SHOWN):
        first, second = (page(number, visit) for visit in (1, 2))
        rule.folders.used(first.known.folder).place = first.address.place
        texts = first.text, second.text
        rule.learn_response(first.address.place, first.known, second.known, texts)
    return rule


def read(html, number):
    analyser = Analyser(Parameters())
    content = analyser.read(parse_html(html.encode()))
    return analyser.page(content, page_id=number, url=f"http://a.example/{number}")


PAGE = "<title>One</title><nav>{nav}</nav><h1>A</h1><p>{text}</p><ul><li>{rotating}</ul><p>{clock}"


def test_of_real_pages_it_is_the_element_that_changes():
    def page(number, visit):
        shown = {"nav": prose("nav", 30), "text": prose(number, 200)}
        shown["rotating"] = prose(f"{number} {visit}", 30)
        shown["clock"] = f"It is {visit}:{number}, and that is all there is to say of it"
        return read(PAGE.format_map(shown), number)

    rule = learnt(page)
    pages = [page(*each).known for each in ((7, 3), (7, 4), (8, 3))]
    paths = rule.exclude(pages[0]).paths
    assert len(paths) == 2
    assert pages[0].rows != pages[1].rows
    one, other, another = (each.rows_without(paths) for each in pages)
    assert one == other != another


@pytest.mark.parametrize(("name", "changes"), [("footer", True), ("note", False)])
def test_a_clock_in_the_sentences_of_a_footer_changes_all_of_it(name, changes):
    def page(number, visit):
        clock = f"{prose('words', 40)} at {visit}:{number} and {prose('more', 40)}"
        html = f"<title>One</title><p>{prose(number, 200)}</p><div class={name}>{clock}</div><p>x"
        return read(html, number)

    rule = learnt(page)
    one, other = (page(7, visit).known for visit in (3, 4))
    paths = rule.exclude(one).paths
    assert (one.rows_without(paths) == other.rows_without(paths)) == changes
