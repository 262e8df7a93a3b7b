"""Pages wait for each other only while the processor is busy."""

import asyncio
import gc
import itertools

import pytest
from crawl_spiders import Visit

from scrapy_neardup.crawl.session import FROZEN_BY_PYTHON, MAX_BATCH, MIN_BATCH, PAUSE, Batches


async def arrive(batches: Batches, count: int) -> tuple[list[int], list[bool]]:
    """Let pages arrive; return how many there were when each went on, and whether it waited."""
    arrived, went_on = 0, []

    async def one() -> bool:
        waited = await batches.turn()
        went_on.append(arrived)
        return waited

    tasks = []
    for _ in range(count):
        arrived += 1
        tasks.append(asyncio.create_task(one()))
        await asyncio.sleep(0)
    return went_on, await asyncio.gather(*tasks)


@pytest.mark.jumping
async def test_pages_of_a_busy_crawl_go_on_together(monkeypatch):
    monkeypatch.setattr("scrapy_neardup.crawl.session.thread_time", itertools.count().__next__)
    went_on, waited = await arrive(Batches(), 2 * MAX_BATCH)
    assert [each // MAX_BATCH for each in went_on] == [1] * MAX_BATCH + [2] * MAX_BATCH
    assert all(waited)


@pytest.mark.jumping
async def test_pages_of_an_idle_crawl_hardly_wait(monkeypatch):
    monkeypatch.setattr("scrapy_neardup.crawl.session.thread_time", lambda: 0.0)
    batches = Batches()
    found = [await arrive(batches, count) for count in (1, PAUSE, MIN_BATCH, MIN_BATCH)]
    assert found == [
        ([1], [True]),
        (list(range(1, PAUSE + 1)), [False] * PAUSE),
        *[([MIN_BATCH] * MIN_BATCH, [True] * MIN_BATCH)] * 2,  # enough to go on so
    ]


async def test_few_pages_do_not_wait_until_another_crawl_is_over(monkeypatch):
    monkeypatch.setattr("scrapy_neardup.crawl.session.thread_time", itertools.count().__next__)
    async with asyncio.timeout(10):
        assert await arrive(Batches(), 3) == ([3, 3, 3], [True, True, True])


class Frozen(Visit):
    """Notes whether objects are left out of garbage collection, before its crawl and in it."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.notes.append(gc.get_freeze_count() > FROZEN_BY_PYTHON)

    def page(self, response):
        self.notes.append(gc.get_freeze_count() > FROZEN_BY_PYTHON)


def test_what_exists_at_the_start_is_left_out_of_garbage_collection_until_the_end(crawl):
    for _ in range(2):
        assert crawl(Frozen, "/a/1").notes == [False, True]
