"""A hypothesis state machine that plays with a store and the toy store side by side."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace

from deciders import by_tokens
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from list_store import ListStore
from store_registry import PLACES, Place

from scrapy_neardup.stores import StoreOptions, open_store
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
        self.model = ListStore("list:model", StoreOptions(max_distance=max_distance))
        self.open()

    def same_of_both(self, verb: str, *arguments: object) -> None:
        ours, theirs = (
            self.runner.run(getattr(each, verb)(*arguments)) for each in (self.store, self.model)
        )
        assert ours == theirs

    @rule(page=pages)
    def check_and_add(self, page: Page) -> None:
        page = self.place.arrived(page)
        self.same_of_both("check_and_add", page, by_tokens(page))

    @rule(page_id=page_ids)
    def confirm(self, page_id: int) -> None:
        self.same_of_both("confirm", page_id)

    @rule(page_id=page_ids)
    def forget(self, page_id: int) -> None:
        self.same_of_both("forget", page_id)

    @precondition(lambda self: self.place.survives)
    @rule()
    def reopen(self) -> None:
        self.close()
        self.runner.run(closed(self.model, self.place))
        self.open()

    @invariant()
    def counts_agree(self) -> None:
        ours, theirs = (self.runner.run(each.stats()) for each in (self.store, self.model))
        assert replace(ours, memory_bytes=None) == theirs

    def open(self) -> None:
        options = {"max_distance": self.model.options.max_distance, "expected_pages": 1000}
        self.store = open_store(self.place.uri, **options)
        self.runner.run(self.store.open())

    def close(self) -> None:
        self.runner.run(self.store.close())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.close()
        self.stack.close()


async def closed(model: ListStore, place: Place) -> None:
    """Let the model keep what the store there does when it is closed."""
    for entry in model.held.entries.values():
        if place.shared:  # an entry that is replaced goes at once
            entry.replaces = None
    await model.close()


def play(machine: type[StoreMachine], examples: int) -> None:
    steps = settings(max_examples=examples, stateful_step_count=30)
    run_state_machine_as_test(machine, settings=steps)
