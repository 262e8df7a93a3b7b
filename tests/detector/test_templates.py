"""Sites whose pages are told apart by their titles: learnt, wanted or not."""

import asyncio
import random
from dataclasses import replace

import pytest

from scrapy_neardup.detector import Analyser, Detector
from scrapy_neardup.parameters import PRESETS, Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.templates import SHOWN
from scrapy_neardup.text import Content

OTHERS = 5
"""Pages before the products, so that the site's furniture is known."""


def words(seed, count):
    chance = random.Random(seed)
    return " ".join(f"w{chance.randrange(10**6)}" for _ in range(count))


def kept(titles, products, parameters=None):
    """Which products are kept: a template of 300 words, and a name."""
    parameters = replace(parameters or Parameters(), titles=titles)
    contents = [Content(words(seed, 100), title=str(seed)) for seed in range(OTHERS)]
    contents += [
        Content(f"{words(99, 150)} {name} {words(98, 150)}", title=title)
        for name, title in products
    ]

    async def run():
        async with open_store("memory:", matching=parameters.matching) as store:
            detector = Detector(Analyser(parameters), store)
            verdicts = []
            for number, content in enumerate(contents):
                url = f"http://a.example/{number}"
                verdicts.append(await detector.judge(content, page_id=number, url=url))
            return [not verdict.is_duplicate for verdict in verdicts[OTHERS:]]

    return asyncio.run(run())


PRODUCTS = [(f"name{number}", f"Product {number}") for number in range(20)]


@pytest.mark.parametrize("preset", ["best", "compact"])
def test_strict(preset):
    parameters = Parameters(**PRESETS[preset])
    assert sum(kept("strict", PRODUCTS, parameters)) >= 19  # the 32 bytes of compact may miss one


def test_ignore():
    assert kept("ignore", PRODUCTS) == [True] + [False] * 19


def test_learn():
    assert kept("learn", PRODUCTS) == [True] + [False] * SHOWN + [True] * (19 - SHOWN)


@pytest.mark.parametrize("titles", ["learn", "strict", "ignore"])
def test_repeats_are_found_under_the_same_title(titles):
    products = [(f"name{number // 10}", f"Product {number // 10}") for number in range(20)]
    found = kept(titles, products)
    assert found[0]
    assert sum(found) == (2 if titles == "strict" else 1)


def test_the_same_title_teaches_nothing():
    products = [(f"name{number}", "Product") for number in range(20)]
    assert sum(kept("learn", [*products, *PRODUCTS[:2]])) == 1


def test_equal_texts_teach_nothing():
    products = [("name0", f"Product {number}") for number in range(10)]
    assert sum(kept("learn", [*products, *PRODUCTS[1:SHOWN]])) == 1


@pytest.mark.parametrize("title", ["", "Chapter 1. Product"])
def test_no_title_and_numbering_say_nothing(title):
    products = [(f"name{n}", title.replace("1", str(n))) for n in range(20)]
    assert sum(kept("strict", products)) == 1
