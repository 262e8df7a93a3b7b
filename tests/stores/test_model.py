"""Every store against the oracle, `store_model.ModelStore`: the same verdicts and counts."""

import random
from itertools import product

import pytest
from deciders import Asking, by_evidence, by_tokens
from matching_pages import Site
from store_machine import StoreMachine, play
from store_model import ModelStore
from store_registry import FEW_EXAMPLES, PLACES, counts, page

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
OF_ALL = [*product(MATCHINGS, ["memory"]), *product(MATCHINGS[::2] + MATCHINGS[5:], ["redis"])]
OF_ALL += [*product((MATCHINGS[0], MATCHINGS[5]), ["redis-cluster", "sqlite"])]
"""Each matching, and of each store both kinds: features alone, and with fingerprints and texts."""


@TIMES
@pytest.mark.parametrize(
    "k",
    [k if k in {0, 3, 6, 10} else pytest.param(k, marks=pytest.mark.stress) for k in range(11)],
)
async def test_a_long_crawl_agrees_with_the_model(k, times, place):
    rng = random.Random(k)
    model = ModelStore(k, decide=by_tokens)
    centres = [rng.getrandbits(64) for _ in range(6)]
    async with open_store(place.uri, max_distance=k, expected_pages=1000) as store:
        for _ in range(times * (100 if place.shared else 200)):
            flips = sum({1 << rng.randrange(64) for _ in range(rng.randrange(k + 4))})
            arrival = page(
                rng.randrange(150),
                rng.choice(centres) ^ flips if rng.random() < 0.8 else rng.getrandbits(64),
                exact=rng.random() < 0.1,
                scope=rng.choice(("", "", "a.example")),
                tokens=rng.choice((0, 0, 0, 1, 2, 3)),
                url=rng.choice((None, "https://a.example/", "https://b.example/")),
            )
            ours = await store.check_and_add(arrival, by_tokens(arrival))
            assert ours == model.check_and_add(arrival)
            known = rng.randrange(150)
            if rng.random() < 0.5:
                await store.confirm(known)
                model.confirm(known)
            elif rng.random() < 0.2:
                assert await store.forget(known) == model.forget(known)
        assert await counts(store) == model.counts()


@TIMES
@pytest.mark.parametrize(
    ("matching", "place"),
    [
        pytest.param(*case, marks=() if case in OF_ALL else pytest.mark.stress)
        for case in product(MATCHINGS, sorted(PLACES))
    ],
    indirect=["place"],
    ids=str,
)
async def test_a_long_crawl_of_a_site_agrees_with_the_model(matching, place, times):
    site = Site(times, matching)
    decide = by_evidence(matching)
    model = ModelStore(3, matching, decide=decide)
    seen = set()
    for _ in range(3):
        async with open_store(place.uri, matching=matching, expected_pages=1000) as opened:
            store = Asking(opened, decide)
            for _ in range(times * (100 if place.shared else 150)):
                arrival = site.page()
                ours, theirs = await store.check_and_add(arrival), model.check_and_add(arrival)
                assert ours == theirs
                assert (ours.match and ours.match.decided) == (
                    theirs.match and theirs.match.decided
                )
                if place.name == "redis-cluster":  # it asks about all that it has read at once
                    assert set(store.asked) >= set(model.asked)
                else:
                    assert store.asked == model.asked
                assert (ours.match and ours.match.count) == (theirs.match and theirs.match.count)
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
