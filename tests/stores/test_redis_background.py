"""Loops beside the crawl end when they are told to."""

import asyncio

import pytest
from store_registry import on, page

from scrapy_neardup.errors import StoreUnavailableError
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.redis import store as redis_store
from scrapy_neardup.stores.redis.store import Background


@pytest.mark.parametrize("ends", [True, False], ids=["ends then", "goes on"])
async def test_the_step_under_way_is_the_last_one(ends, monkeypatch):
    """Close waits for it, but not for ever."""
    monkeypatch.setattr(redis_store, "MAX_END", 30 if ends else 0.05)
    steps, allowed = asyncio.Queue(), asyncio.Event()

    async def step() -> None:
        steps.put_nowait(None)
        await allowed.wait()

    background = Background()
    background.start(step, 0.001)
    await steps.get()
    closing = asyncio.create_task(background.close())
    await asyncio.sleep(0.01)
    if ends:
        allowed.set()
    await asyncio.wait_for(closing, 20)
    assert steps.empty()  # there was no other one
    assert all(task.done() for task in background._loops) is ends
    allowed.set()


async def test_nothing_waits_for_the_end_of_a_pause():
    background = Background()
    background.start(asyncio.Event().wait, 3600)
    await asyncio.wait_for(background.close(), 20)
    assert all(task.done() for task in background._loops)


@pytest.mark.parametrize(("error", "warnings"), [
    (StoreUnavailableError("away"), 0), (IndexError("a damaged record"), 1),
])  # fmt: skip
async def test_steps_go_on_whatever_one_raises(caplog, error, warnings):
    steps = asyncio.Queue()

    async def step() -> None:
        steps.put_nowait(None)
        raise error

    background = Background()
    background.start(step, 0.001)
    for _ in range(3):
        await asyncio.wait_for(steps.get(), 30)
    await background.close()
    assert sum(each.levelname == "WARNING" for each in caplog.records) == warnings


async def test_jobs_are_ended_by_close_and_left_undone_without_a_server():
    done = []

    async def job(name: str, error: Exception | None = None) -> None:
        await asyncio.sleep(0.01)
        if error:
            raise error
        done.append(name)

    background = Background()
    background.soon(job("one"))
    background.soon(job("two", StoreUnavailableError("away")))
    background.soon(job("three"))
    await background.close()
    assert done == ["one", "three"]


@on("redis")
async def test_a_closed_store_leaves_no_task(place):
    async with open_store(place.uri) as store:
        await store.check_and_add(page(1, 1))
    assert asyncio.all_tasks() == {asyncio.current_task()}
