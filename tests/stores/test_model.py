"""Every store against a simple one, `list_store.ListStore`: the same verdicts and counts."""

from itertools import product

import pytest
from deciders import Asking, by_evidence
from list_store import ListStore
from matching_pages import Site
from store_machine import StoreMachine, closed, play
from store_registry import FEW_EXAMPLES, PLACES, counts

from scrapy_neardup.stores import Matching, StoreOptions, open_store
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
STORES = sorted(PLACES.keys() - {"toy"})
ALL = [*product([3], MATCHINGS, STORES), *product(range(11), [Matching()], STORES)]
USUAL = [
    *product([3], MATCHINGS, ["memory"]),
    *product([3], MATCHINGS[::2] + MATCHINGS[5:], ["redis"]),
    *product([3], (MATCHINGS[0], MATCHINGS[5]), ["redis-cluster", "sqlite"]),
    *product([0, 3, 6, 10], [Matching()], ["memory", "redis", "redis-partitions", "sqlite"]),
    *product([0, 6], [Matching()], ["redis-cluster"]),
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
    toy = ListStore("list:model", StoreOptions(max_distance=k, matching=matching))
    model, seen = Asking(toy, decide), set()
    options = {"max_distance": k, "matching": matching, "expected_pages": 1000}
    for _ in range(3):
        async with open_store(place.uri, **options) as opened:
            store = Asking(opened, decide)
            for _ in range(times * (100 if place.shared else 150)):
                arrival = place.arrived(site.page())
                ours, theirs = [await each.check_and_add(arrival) for each in (store, model)]
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
                    await model.confirm(known)
                elif site.rng.random() < 0.3:
                    assert await store.forget(known) == await model.forget(known)
            assert await counts(store) == await counts(model)
        if not place.survives:
            break
        await closed(toy, place)
    assert seen == {Decision.NEW, Decision.DUPLICATE, Decision.SEEN}


@pytest.mark.parametrize("name", STORES)
def test_every_sequence_of_calls_agrees_with_the_model(name):
    play(machine(name), FEW_EXAMPLES.get(name, 30))


@pytest.mark.stress
@pytest.mark.parametrize("name", STORES)
def test_many_sequences_of_calls_agree_with_the_model(name):
    play(machine(name), examples=2000)


def machine(name: str) -> type[StoreMachine]:
    return type("Machine", (StoreMachine,), {"place_name": name})
