"""Every store against the oracle, `store_model.ModelStore`: the same verdicts and counts."""

from itertools import product

import pytest
from deciders import Asking, by_evidence
from matching_pages import Site
from store_machine import StoreMachine, play
from store_model import ModelStore
from store_registry import FEW_EXAMPLES, PLACES, counts

from scrapy_neardup.stores import Matching, open_store
from scrapy_neardup.verdict import Decision

TIMES = pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.stress)])
"""How long a crawl is."""
MATCHINGS = [
    Matching(by_distance=False, features=4),
    Matching(features=4, shared_features=2),
    Matching(features=1, text_bits=512, named_bits=64),
    Matching(by_distance=False, features=4, text_bits=64, named_bits=64),
    Matching(features=5, text_bits=512, named_bits=64),
    Matching(features=6, shared_features=2, text_bits=1024, named_bits=64),
]
ALL = [*product([3], MATCHINGS, sorted(PLACES)), *product(range(11), [Matching()], sorted(PLACES))]
USUAL = [
    *product([3], MATCHINGS, ["memory"]),
    *product([3], MATCHINGS[::2] + MATCHINGS[5:], ["redis"]),
    *product([3], (MATCHINGS[0], MATCHINGS[5]), ["redis-cluster", "sqlite"]),
    *product([0, 3, 6, 10], [Matching()], sorted(PLACES)),
]
"""Each matching, and of each store three kinds: features alone, with fingerprints and texts, and
fingerprints alone, for some k."""


@TIMES
@pytest.mark.parametrize(
    ("k", "matching", "place"),
    [pytest.param(*case, marks=() if case in USUAL else pytest.mark.stress) for case in ALL],
    indirect=["place"],
    ids=str,
)
async def test_a_long_crawl_agrees_with_the_model(k, matching, place, times):
    site, decide = Site(times, matching, k), by_evidence(matching)
    model, seen = ModelStore(k, matching, decide=decide), set()
    options = {"max_distance": k, "matching": matching, "expected_pages": 1000}
    for _ in range(3):
        async with open_store(place.uri, **options) as opened:
            store = Asking(opened, decide)
            for _ in range(times * (100 if place.shared else 150)):
                arrival = place.arrived(site.page())
                ours, theirs = await store.check_and_add(arrival), model.check_and_add(arrival)
                assert ours == theirs
                for name in ("decided", "count"):
                    assert getattr(ours.match, name, None) == getattr(theirs.match, name, None)
                if place.name == "redis-cluster":  # it asks about all that it has read at once
                    assert set(store.asked) >= set(model.asked)
                else:
                    assert store.asked == model.asked
                seen.add(ours.decision)
                known = site.rng.randrange(48)
                if site.rng.random() < 0.6:
                    await store.confirm(known)
                    model.confirm(known)
                elif site.rng.random() < 0.3:
                    assert await store.forget(known) == model.forget(known)
            assert await counts(store) == model.counts()
        if not place.survives:
            break
        model.reopen(restores=not place.shared)
    assert seen == {Decision.NEW, Decision.DUPLICATE, Decision.SEEN}


@pytest.mark.parametrize("name", sorted(PLACES))
def test_every_sequence_of_calls_agrees_with_the_model(name):
    play(machine(name), FEW_EXAMPLES.get(name, 30))


@pytest.mark.stress
@pytest.mark.parametrize("name", sorted(PLACES))
def test_many_sequences_of_calls_agree_with_the_model(name):
    play(machine(name), examples=2000)


def machine(name: str) -> type[StoreMachine]:
    return type("Machine", (StoreMachine,), {"place_name": name})
