import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import store_for

from scrapy_neardup.offline.evaluation.truth import ReadPage
from scrapy_neardup.offline.evaluation.tuning import (
    Configuration,
    Outcome,
    Share,
    chosen,
    configurations,
    measure,
    share,
)
from scrapy_neardup.settings.parameters import Parameters
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


def pages(*texts):
    return [
        ReadPage(
            f"http://a.example/?sid={number}",
            None if text is None else Content(text=" ".join(text)),
        )
        for number, text in enumerate(texts)
    ]


def collection(groups, changes=(0, 1, 2, 3, 8)):
    """Return pages in groups of these sizes; some in a group are less alike than duplicates."""
    texts = []
    for size in groups:
        first = prose()
        texts += [first, *(changed(first, SOURCE.choice(changes)) for _ in range(size - 1))]
    SOURCE.shuffle(texts)
    return pages(*texts)


def test_the_defaults_find_copies_and_lose_nothing():
    first, second = prose(), prose()
    told = []
    measured = measure(
        pages(first, second, first, changed(second, 60), changed(first, 1), None),
        100,
        progress=lambda *done: told.append(done),
    )
    default = measured.outcomes[0]
    assert default.configuration.settings == {}
    assert default.matches.tolist() == [-1, -1, 0, -1, 0, -1]
    assert (default.dropped, default.lost) == (2, 0)
    assert (default.precision.value, default.recall.value) == (1.0, 1.0)
    assert (1, "pages judged") in told
    assert told[-1] == (5, "pages compared")
    assert chosen(measured.outcomes) is default


def test_each_configuration_judges_all_pages_as_a_scan_would():
    from scrapy_neardup.offline.jobs.scanning import judge
    from scrapy_neardup.pipeline.analysis import Analyser
    from scrapy_neardup.pipeline.detector import Detector

    found = collection([3] * 10)

    async def dropped(parameters):
        async with store_for(parameters) as store:
            analyser = Analyser(parameters)
            detector = Detector(analyser, store)
            verdicts = [
                await judge(analyser.page(page.content, page_id=number, url=page.name), detector)
                for number, page in enumerate(found)
            ]
        return [number for number, verdict in enumerate(verdicts) if verdict.is_duplicate]

    import asyncio

    for outcome in measure(found, 10).outcomes:
        expected = asyncio.run(dropped(outcome.configuration.parameters))
        assert np.flatnonzero(outcome.matches != -1).tolist() == expected


def test_an_estimate_from_a_part_is_near_what_all_pages_say():
    found = collection([4] * 25 + [1] * 25)
    exact = measure(found, 1_000)
    assert len(exact.sample.numbers) <= 75
    for seed in range(3):
        estimate = measure(found, 40, seed)
        assert len(estimate.sample.numbers) == 40
        for one, other in zip(exact.outcomes, estimate.outcomes, strict=True):
            assert one.dropped == other.dropped
            assert other.precision.value == pytest.approx(one.precision.value, abs=0.1)
            assert other.recall.value == pytest.approx(one.recall.value, abs=0.1)


def test_configurations_are_settings_that_mean_them():
    from scrapy.settings import Settings

    from scrapy_neardup.settings.crawling import read_settings

    planned = list(configurations())
    assert len({configuration.varied for configuration in planned}) == len(planned)
    for configuration in planned:
        assert (
            read_settings(Settings(configuration.settings)).parameters == configuration.parameters
        )


def outcome(recall, lost, *, low=0.0, high=1.0, precision=1.0, dropped=100):
    configuration = Configuration(("x", "y"), {"x": "y"}, Parameters())
    return Outcome(
        configuration=configuration, precision=Share(precision, 0, 1),
        recall=Share(recall, low, high), dropped=dropped, lost=lost, matches=np.empty(0, int),
        differences={},
    )  # fmt: skip


def test_another_configuration_has_to_be_clearly_better():
    default = outcome(0.8, 1, high=0.85)
    same, better = outcome(0.84, 1), outcome(0.86, 1)
    assert chosen([default, same]) is default
    assert chosen([default, same, better]) is better
    assert chosen([default, outcome(0.99, 2)]) is default
    assert chosen([default, outcome(0.99, 1, precision=0.99)]) is default
    assert chosen([default, outcome(0.3, 0)]) is default


def test_what_loses_more_than_one_drop_in_a_hundred_is_not_chosen_where_others_lose_fewer():
    default, safe, safer = outcome(0.8, 2, high=0.85), outcome(0.3, 0), outcome(0.4, 0)
    assert chosen([default, outcome(0.99, 1), safe, safer]) is safer
    assert chosen([default]) is default


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
