import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import InputError
from scrapy_neardup.offline.sampling import ReadPage, Sample, audited_pages, unpacked
from scrapy_neardup.offline.tuning import (
    Configuration,
    Outcome,
    Share,
    chosen,
    configurations,
    drawn,
    measured,
    share,
    truth_of,
)
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.text import Content

SOURCE = random.Random(7)
WORDS = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in "mnrst"]


def prose(words=120):
    return SOURCE.choices(WORDS, k=words)


def changed(words, count):
    words = list(words)
    for place in SOURCE.sample(range(len(words)), count):
        words[place] = f"changed{SOURCE.randrange(10**9)}"
    return words


def pages(*texts, address="http://a.example/{}"):
    return [
        ReadPage(address.format(number), None if text is None else Content(text=" ".join(text)))
        for number, text in enumerate(texts)
    ]


def whole(*texts, **options):
    found = pages(*texts, **options)
    return Sample(found, np.arange(len(found)), np.ones(len(found)), len(found))


def similarity(a, b):
    one, two = ({tuple(text[i : i + 4]) for i in range(len(text) - 3)} for text in (a, b))
    return Fraction(len(one & two), len(one | two))


def test_the_truth_is_what_comparing_all_pages_says():
    texts = []
    for _ in range(6):
        first = prose()
        texts += [first, *(changed(first, count) for count in (1, 2, 4, 30))]
    SOURCE.shuffle(texts)
    truth = truth_of(whole(*texts))
    for number, text in enumerate(texts):
        best = max((similarity(text, other) for other in texts[:number]), default=0)
        assert truth.best[number] == pytest.approx(float(best) if best >= Fraction(4, 5) else 0)
        assert truth.duplicates[number] == (best >= Fraction(9, 10))
        if truth.nearest[number] >= 0:
            assert similarity(text, texts[truth.nearest[number]]) == best


def test_a_page_that_cannot_be_read_is_no_duplicate():
    truth = truth_of(whole(None, None, prose()))
    assert truth.best.tolist() == [0, 0, 0]


def test_the_defaults_find_copies_and_lose_nothing():
    first, second = prose(), prose()
    sample = whole(
        first, second, first, changed(second, 60), changed(first, 1), None,
        address="http://a.example/?sid={}",
    )  # fmt: skip
    told = []
    outcomes = measured(sample, truth_of(sample), lambda done, of: told.append((done, of)))
    default = outcomes[0]
    assert default.configuration.settings == {}
    assert default.drops == {2: 0, 4: 0}
    assert (default.dropped, default.right, default.lost) == (2, 2, 0)
    assert (default.precision.value, default.recall.value) == (1.0, 1.0)
    assert told == [(done, len(outcomes)) for done in range(len(outcomes))]
    assert chosen(outcomes) is default


def test_configurations_are_settings_that_mean_them():
    from scrapy.settings import Settings

    from scrapy_neardup.crawl.settings import read_settings

    planned = list(configurations())
    assert len({configuration.varied for configuration in planned}) == len(planned)
    for configuration in planned:
        assert (
            read_settings(Settings(configuration.settings)).parameters == configuration.parameters
        )


def outcome(recall, lost, *, low=0.0, high=1.0):
    configuration = Configuration(("x", "y"), {"x": "y"}, Parameters())
    return Outcome(
        configuration=configuration, precision=Share(1, 1, 1), recall=Share(recall, low, high),
        dropped=1, right=1, lost=lost, drops={},
    )  # fmt: skip


def test_another_configuration_has_to_be_clearly_better():
    default = outcome(0.8, 1, high=0.85)
    same, better = outcome(0.84, 1), outcome(0.86, 1)
    assert chosen([default, same]) is default
    assert chosen([default, same, better]) is better
    safe, safer = outcome(0.3, 0), outcome(0.4, 0)
    assert chosen([default, better, safe, safer]) is safer
    assert chosen([default, outcome(0.99, 2)]) is default


@given(st.integers(1, 500), st.integers(0, 500))
def test_an_interval_holds_its_share(whole, part):
    part = min(part, whole)
    found = share(part, whole, whole)
    assert 0 <= found.low <= found.value == part / whole <= found.high <= 1
    assert found.high - found.low > 0


def test_intervals_are_those_of_wilson():
    found = share(8, 10, 10)
    assert (round(found.low, 3), round(found.high, 3)) == (0.490, 0.943)
    assert share(0, 0, 0) == Share(1.0, 0.0, 1.0)


def collection(groups):
    texts = []
    for size in groups:
        first = prose()
        texts += [first, *(changed(first, 1) for _ in range(size - 1))]
    SOURCE.shuffle(texts)
    return pages(*texts)


def test_a_small_collection_is_its_own_sample():
    found = collection([1, 2, 3])
    sample = drawn(lambda: found, 6)
    assert sample.pages == found
    assert sample.weights.tolist() == [1] * 6
    assert sorted(Counter(sample.groups.tolist()).values()) == [1, 2, 3]


def test_groups_are_drawn_whole_and_stand_for_the_collection():
    found = collection([3] * 40 + [1] * 60)
    everything = drawn(lambda: found, 1_000)
    members = {page.name: group for page, group in zip(found, everything.groups, strict=True)}
    sizes = Counter(members.values())
    duplicates = truth_of(everything).duplicates.sum()
    for seed in range(3):
        sample = drawn(lambda: found, 60, seed)
        assert len(sample.pages) <= 60
        assert sample.collection == 180
        assert [page.name for page in sample.pages] == [
            page.name for page in found if page in sample.pages
        ]
        drawn_sizes = Counter(members[page.name] for page in sample.pages)
        assert all(sizes[group] == number for group, number in drawn_sizes.items())
        assert sample.weights.sum() == pytest.approx(180, rel=0.05)
        estimate = sample.weights[truth_of(sample).duplicates].sum()
        assert estimate == pytest.approx(duplicates, rel=0.15)


def test_a_huge_group_is_drawn_in_part():
    found = collection([100, *[2] * 20])
    sample = drawn(lambda: found, 50)
    assert max(Counter(sample.groups.tolist()).values()) <= 5
    assert sample.weights.sum() == pytest.approx(140, rel=0.05)


def test_a_large_collection_is_read_twice():
    found, reads = collection([2] * 30), []

    def read():
        reads.append(1)
        return iter(found)

    drawn(read, 10)
    assert len(reads) == 2
    drawn(read, 30)
    assert len(reads) == 3


def test_an_audit_gives_the_texts_it_holds():
    from audits import Audit

    from scrapy_neardup.reports.audit import entries

    audit = Audit()
    kept = audit.kept("http://a.example/1", text="one two", title="One", headings=["H"])
    audit.drop("http://a.example/2", kept)
    audit.kept("http://a.example/1", text="again")
    [page] = audited_pages(entries(audit.lines(), "a"))
    assert page == ReadPage(
        "http://a.example/1", Content(text="one two", title="One", headings=("H",))
    )
    with pytest.raises(InputError, match="NEARDUP_AUDIT_TEXT"):
        list(audited_pages([]))
    assert unpacked("no base64") == unpacked("bm90IHpsaWI=") == ""
