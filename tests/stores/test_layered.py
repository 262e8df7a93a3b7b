"""A store over a packed base: what the base knows, and what goes to the store."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from deciders import Asking, by_evidence, nothing
from encoded_parts import opened
from matching_pages import BY_FEATURES, CONFIRMED, NEAR_CONFIRMED, ZEROS, Site, like
from store_registry import EVERYTHING, counts, outcome, page

from scrapy_neardup.stores import Matching, Store, open_store
from scrapy_neardup.stores.base import MAX_COMPARED
from scrapy_neardup.stores.entryformat import PACKED
from scrapy_neardup.stores.packed import SHAPE, LayeredStore, PackedPages
from scrapy_neardup.tables.packed.rows import Rows, Unpacked
from scrapy_neardup.verdict import Candidate, Decided, Decision, Page, Reason

SCHEMA = {"hash": "blake2b-1", "shingle_size": 3}


def index_of(pages, matching, schema):
    """An index of pages with records, opened."""
    columns = [np.zeros(len(pages), np.uint64) for _ in range(matching.features)]
    for number, each in enumerate(pages):
        for column, feature in zip(columns, each.features, strict=False):
            column[number] = feature

    def record(number):
        page = pages[number]
        return PACKED.pack(page.fingerprint) + page.evidence

    shape = {key: getattr(matching, key) for key in SHAPE}
    return opened(
        np.array([page.fingerprint for page in pages], np.uint64),
        schema=schema,
        ids=np.array([page.id for page in pages], np.uint64),
        url=lambda place: (pages[place].url or "").encode(),
        records=Unpacked(shape, record, columns.__getitem__, columns=len(columns)),
    )


def base_of(pages, matching, scope="all"):
    schema = SCHEMA | {"scope": scope}
    index = index_of(pages, matching, schema)
    return PackedPages(index, "base.pack", max_distance=3, schema=schema, matching=matching)


TWICE_CONFIRMED = replace(CONFIRMED, shared_features=2)


@pytest.fixture(scope="module")
def base():
    """Two pages, 4 bits from each other."""
    fingerprints = np.array([0, 0b1111], np.uint64)
    ids = np.array([7, 5], np.uint64)
    urls = b"https://a.example/7", b""
    return opened(fingerprints, schema=SCHEMA, ids=ids, url=urls.__getitem__)


def over(base, store: Store) -> LayeredStore:
    known = PackedPages(base, "base.pack", max_distance=3, schema=SCHEMA, matching=Matching())
    return LayeredStore(store, known)


async def test_the_base_is_asked_first_and_nothing_is_counted_there(base):
    async with over(base, open_store("memory:")) as store:
        verdict = await store.check_and_add(page(7, 0b11, url="https://a.example/again"))
        assert (verdict.decision, verdict.match.distance) == (Decision.SEEN, 2)
        assert verdict.match.url == "https://a.example/again"
        verdict = await store.check_and_add(page(1, 0b1))
        assert (verdict.reason, verdict.match.url) == (Reason.NEAR, "https://a.example/7")
        # The nearest, and of two the smallest page id; an exact page wants an equal one.
        for fingerprint, exact, of in ((0b111, False, 5), (0b11, False, 5), (0, True, 7)):
            arrived = page(1, fingerprint, exact=exact)
            assert await outcome(store, arrived) == (Decision.DUPLICATE, of)
        assert await outcome(store, page(2, 0b1, exact=True)) == (Decision.NEW, None)
        assert await counts(store) == (1, 1, 0)


async def test_what_the_base_does_not_know_is_the_stores(base):
    async with over(base, open_store("memory:")) as store:
        # A page of the base that has changed has an entry of its own.
        assert await outcome(store, page(7, EVERYTHING)) == (Decision.NEW, None)
        assert await outcome(store, page(1, EVERYTHING - 1)) == (Decision.DUPLICATE, 7)
        assert await store.forget(7) == 1
        assert await outcome(store, page(1, EVERYTHING - 1)) == (Decision.NEW, None)
        await store.confirm(1)
        assert await store.forget(1) == 0
        assert (await store.stats()).pages == 1


async def test_the_notice_board_is_the_stores(base):
    async with open_store("memory:") as below:
        store = over(base, below)
        assert await below.exchange("topic", "one", b"1") == [b"1"]
        assert sorted(await store.exchange("topic", "two", b"2")) == [b"1", b"2"]
        assert sorted(await below.exchange("topic", "one", b"3")) == [b"2", b"3"]
        assert store.is_private  # so a crawl posts nothing that nobody else reads


async def test_pages_of_the_base_and_then_of_the_store_are_asked_about():
    kept = page(1, 1, features=(5, 6, 9), **like(ZEROS))
    other = page(2, EVERYTHING, features=(5, 7, 9), **like("1" * 16))
    async with open_store("memory:", matching=CONFIRMED) as below:
        store = Asking(LayeredStore(below, base_of([kept], CONFIRMED)), nothing)
        assert await outcome(store, other) == (Decision.NEW, None)
        assert [each.evidence for each in store.asked] == [kept.evidence]
        assert await outcome(store, replace(other, id=3, **like("2" * 16))) == (Decision.NEW, None)
        assert [each.evidence for each in store.asked] == [kept.evidence, other.evidence]


def of_scope(page: Page, scope: str) -> Page:
    """The page, of one of two hosts where hosts count."""
    if scope == "all":
        return replace(page, scope="")
    return replace(page, url=f"http://{page.scope}/{page.id}" if page.scope else None)


@pytest.mark.parametrize("scope", ["all", "host"])
@pytest.mark.parametrize("matching", [CONFIRMED, NEAR_CONFIRMED, TWICE_CONFIRMED, BY_FEATURES])
async def test_a_base_judges_as_a_store_that_holds_its_pages(matching, scope):
    decisions = Counter()
    for seed in range(4):
        site = Site(seed, matching)
        pages = [of_scope(site.page(), scope) for _ in range(80)]
        # A packed file doesn't say of which pages it has a digest in place of a fingerprint.
        pages = [each for each in pages if not each.exact]
        kept: dict[int, Page] = {}
        decide = by_evidence(matching)
        async with open_store("memory:", matching=matching, expected_pages=1000) as opened:
            store = Asking(opened, decide)
            for each in pages[:40]:
                if each.id not in kept and (await outcome(store, each))[0] is Decision.NEW:
                    kept[each.id] = each
        base = base_of(list(kept.values()), matching, scope=scope)
        for each in pages[40:]:
            async with open_store("memory:", matching=matching, expected_pages=1000) as store:
                for one in kept.values():
                    await store.check_and_add(one, nothing(one))
                wanted = await store.check_and_add(each, decide(each))
            verdict = base.check(each, decide(each))
            decisions[wanted.decision] += 1
            assert verdict == (None if wanted.decision is Decision.NEW else wanted)
    assert len(decisions) >= (3 if scope == "all" else 2)


def test_hundreds_of_pages_under_a_feature_and_a_fingerprint_are_bounded():
    crowd = [page(n, 1 << 20, features=(5, n, 9), **like(f"{n % 10}" * 16)) for n in range(1, 700)]
    base = base_of(crowd, CONFIRMED)
    # It is one of the nearest, that is of those with the smallest ids, or it isn't looked at.
    decide_for = by_evidence(CONFIRMED)
    for fingerprint in (1 << 20, EVERYTHING):
        arrived = page(10_000, fingerprint, features=(5, 1, 9), **like("3" * 16))
        assert base.check(arrived, decide_for(arrived)).match.page_id == 3
    # A page's own entry is found among any number of others.
    itself = replace(crowd[-1], fingerprint=EVERYTHING)
    assert base.check(itself, decide_for(itself)).decision is Decision.SEEN


def test_few_pages_of_a_crowd_are_read(monkeypatch):
    """The page ids of a fingerprint ascend, so most of them needn't be known."""
    crowd = [page(n, 1 << n % 40, features=(n, n, n), **like(ZEROS)) for n in range(1, 4000)]
    base, asked, read, page_id = base_of(crowd, CONFIRMED), [], [], Rows.page_id

    def reading(rows: Rows, row: int) -> int:
        read.append(row)
        return page_id(rows, row)

    def refuse(candidate: Candidate) -> Decided:
        asked.append(candidate.page_id)
        return Decided(is_same=False, rule="nothing")

    monkeypatch.setattr(Rows, "page_id", reading)
    arrived = page(10_000, 0, features=(0, 0, 0), **like("3" * 16))
    assert base.check(arrived, refuse) is None
    assert asked == [*range(1, MAX_COMPARED + 1)]
    assert len(read) < 4 * MAX_COMPARED
