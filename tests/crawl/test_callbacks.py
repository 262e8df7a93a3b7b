"""Callbacks are told apart by what they are, whatever their names."""

from functools import partial
from xmlrpc.client import ServerProxy

import pytest
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from scrapy_neardup.crawl.callbacks import Callbacks


def logged(function):
    """Return a function that has no name of its own, like many decorators."""

    def wrapper(*arguments, **keywords):
        return function(*arguments, **keywords)

    return wrapper


def callback_for(page_class):
    """Return a callback as `scrapy_poet.callback_for` does."""

    def parse(*_):
        yield page_class()

    return parse


class Items:
    def parse(self, response):
        """Read an item, in a class of its own."""

    def __call__(self, response):
        """Do the same."""


class Lists(Items):
    def parse(self, response):
        """Read a list."""


class Spider(scrapy.Spider):
    name = "spider"

    def parse(self, response):
        """Read a list."""

    def item(self, response, **_):
        """Read an item."""

    logged_parse, logged_item = logged(parse), logged(item)


class ByRules(CrawlSpider):
    name = "rules"
    rules = (
        Rule(LinkExtractor(), callback="item"),
        *[Rule(LinkExtractor(), "item", {"kind": kind}) for kind in ("new", "old")],
    )

    def item(self, response):
        """Read an item."""


class Untold:
    """Has attributes that it doesn't know of."""

    def __getattr__(self, name):
        raise KeyError(name)


SPIDER, RULES = Spider(), ByRules()


def named(callback, spider=SPIDER, **arguments):
    request = scrapy.Request("http://site.example/", callback, **arguments)
    return Callbacks(spider).of(request)


@pytest.mark.parametrize(("callback", "other"), [
    (SPIDER.parse, SPIDER.item),
    (lambda response: SPIDER.parse(response), lambda response: SPIDER.item(response)),  # noqa: PLW0108
    (partial(SPIDER.parse), partial(SPIDER.item)),
    (partial(partial(SPIDER.item), is_item=True), partial(SPIDER.item, is_item=False)),
    (SPIDER.logged_parse, SPIDER.logged_item),
    (callback_for(Items), callback_for(Lists)),
    (SPIDER.parse, callback_for(Items)),
    (Items().parse, Lists().parse),
    (Items(), Lists()),
])  # fmt: skip
def test_callbacks_that_differ(callback, other):
    assert named(callback) != named(other)


@pytest.mark.parametrize(("callback", "other"), [
    (None, SPIDER.parse),
    (partial(SPIDER.parse), SPIDER.parse),
    (Items().parse, Items().parse),
    (Items(), Items()),
    *[(partial(SPIDER.item, number=each), SPIDER.item) for each in (1, 2)],
])  # fmt: skip
def test_callbacks_that_are_one(callback, other):
    assert named(callback) == named(other)


def test_a_lambda_that_is_made_for_each_request_is_one_callback():
    assert len({named(lambda response, at=at: SPIDER.item(response, at=at)) for at in "ab"}) == 1


@pytest.mark.parametrize("make", [Untold, lambda: ServerProxy("http://site.example/")])
def test_what_a_lambda_encloses_may_have_any_attributes_or_raise_anything(make):
    enclosed = make()
    assert named(lambda response: SPIDER.item(enclosed)).endswith("SPIDER item")


def test_a_rule_has_the_callback_that_it_names():
    assert named(RULES._callback, RULES, meta={"rule": 0}) == named(RULES.item, RULES)


class ByMadeRules(ByRules):
    """Its rules can be read once; Scrapy keeps what it has read."""

    rules = (rule for rule in ByRules.rules)


@pytest.mark.parametrize("spider", [ByRules, ByMadeRules])
def test_the_rules_of_a_spider_are_those_that_scrapy_has_read(spider):
    crawled = spider()
    crawled.rules = ()
    assert named(crawled._callback, crawled, meta={"rule": 0}) == named(crawled.item, crawled)
    for meta in ({}, {"rule": 7}):  # such as a request of the spider itself
        assert "_callback" in named(crawled._callback, crawled, meta=meta)


def test_rules_of_one_callback_are_told_apart_by_their_arguments():
    names = [named(RULES._callback, RULES, meta={"rule": rule}) for rule in range(3)]
    assert len(set(names)) == 3


def test_a_request_of_a_rule_has_an_errback_if_its_rule_has_one():
    """Each request of a `CrawlSpider` has one, which calls that of the rule."""
    crawled = ByRules()
    crawled._rules[1].errback = crawled.item
    made = [
        scrapy.Request("http://site.example/", crawled._callback, errback=crawled._errback, **more)
        for more in ({"meta": {"rule": 0}}, {"meta": {"rule": 1}}, {})
    ]
    assert [*map(Callbacks(crawled).has_errback, made)] == [False, True, True]
