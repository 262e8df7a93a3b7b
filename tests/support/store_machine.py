"""A hypothesis state machine that plays with a store and the model side by side."""

import asyncio
from contextlib import ExitStack

from deciders import by_tokens
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from store_model import ModelStore
from store_registry import PLACES

from scrapy_neardup.stores import open_store
from scrapy_neardup.verdict import Page

CENTRES = (0, (1 << 64) - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210)

page_ids = st.integers(0, 11)
flips = st.lists(st.integers(0, 63), max_size=10).map(lambda bits: sum({1 << bit for bit in bits}))
clustered = st.builds(lambda centre, flip: centre ^ flip, st.sampled_from(CENTRES), flips)
pages = st.builds(
    Page,
    id=page_ids,
    fingerprint=clustered | st.integers(0, (1 << 64) - 1),
    exact=st.booleans(),
    scope=st.sampled_from(["", "", "a.example", "b.example"]),
    url=st.none() | st.sampled_from(["https://a.example/", "https://b.example/ü"]),
    tokens=st.sampled_from([0, 0, 0, 1, 2, 3]),
)


class StoreMachine(RuleBasedStateMachine):
    """Verdicts, counts and what `forget` returns are the model's, after every step."""

    place_name: str

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.place = self.stack.enter_context(PLACES[self.place_name]())
        self.runner = self.stack.enter_context(asyncio.Runner())

    @initialize(max_distance=st.integers(0, 10))
    def start(self, max_distance: int) -> None:
        self.model = ModelStore(max_distance, decide=by_tokens)
        self.open()

    @rule(page=pages)
    def check_and_add(self, page: Page) -> None:
        page = self.place.arrived(page)
        verdict = self.runner.run(self.store.check_and_add(page, by_tokens(page)))
        assert verdict == self.model.check_and_add(page)

    @rule(page_id=page_ids)
    def confirm(self, page_id: int) -> None:
        self.model.confirm(page_id)
        self.runner.run(self.store.confirm(page_id))

    @rule(page_id=page_ids)
    def forget(self, page_id: int) -> None:
        assert self.runner.run(self.store.forget(page_id)) == self.model.forget(page_id)

    @invariant()
    def counts_agree(self) -> None:
        stats = self.runner.run(self.store.stats())
        assert (stats.pages, stats.pending, stats.dropped) == self.model.counts()
        assert stats.overflowed == 0

    def open(self) -> None:
        options = {"max_distance": self.model.max_distance, "expected_pages": 1000}
        self.store = open_store(self.place.uri, **options)
        self.runner.run(self.store.open())

    def close(self) -> None:
        self.runner.run(self.store.close())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.close()
        self.stack.close()


def play(machine: type[StoreMachine], examples: int) -> None:
    steps = settings(max_examples=examples, stateful_step_count=30)
    run_state_machine_as_test(machine, settings=steps)
