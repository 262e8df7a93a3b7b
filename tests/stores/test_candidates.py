"""Which entries a page repeats: rule 1 of `scrapy_neardup/stores/base.py`, on every store."""

from store_registry import EVERYTHING, NAMESPACES, SOMETHING, on_store, outcome, page

from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.entryformat import partition
from scrapy_neardup.verdict import Decision


@on_store()
async def test_scopes_never_meet_where_their_keys_do(store):
    masks = {scope: partition(scope, exact=False).mask for scope in ("", "a.example", "b.example")}
    for first, flipped in ((0, 0), (10, 0b101)):
        for number, (scope, mask) in enumerate(masks.items()):
            crafted = page(first + number, SOMETHING ^ mask ^ flipped, scope=scope)
            found = (Decision.DUPLICATE, number) if first else (Decision.NEW, None)
            assert await outcome(store, crafted) == found


@on_store()
async def test_exact_and_other_pages_never_meet(store):
    for first, scope in ((0, ""), (10, "a.example")):
        masks = [partition(scope, exact=exact).mask for exact in (False, True)]
        crafted = SOMETHING ^ masks[0] ^ masks[1]
        await store.check_and_add(page(first, SOMETHING, scope=scope))
        for number, fingerprint in enumerate((SOMETHING, crafted), first + 1):
            other = page(number, fingerprint, scope=scope, exact=True)
            assert await outcome(store, other) == (Decision.NEW, None)
        other = page(first + 3, crafted, scope=scope)
        assert await outcome(store, other) == (Decision.NEW, None)


@on_store(max_distance=6)
async def test_the_largest_and_the_smallest_values(store):
    for number, fingerprint in ((0, 0), (EVERYTHING, EVERYTHING)):
        extreme = page(number, fingerprint, tokens=10**9)
        assert await outcome(store, extreme) == (Decision.NEW, None)
    assert await outcome(store, page(1, 63)) == (Decision.DUPLICATE, 0)
    assert await outcome(store, page(2, EVERYTHING - 63)) == (Decision.DUPLICATE, EVERYTHING)
    await store.confirm(EVERYTHING)
    await store.confirm(0)
    assert (await store.stats()).pending == 0


@on_store()
async def test_any_text_in_scope_and_url(store):
    scopes = ("", "ü.example", "\ud800", "a" * 5000, "a\x00b", "'; DROP TABLE page; --")
    for number, scope in enumerate(scopes):
        odd = page(number, SOMETHING, scope=scope, url=f"https://{scope}/")
        assert await outcome(store, odd) == (Decision.NEW, None)
        await store.confirm(number)
    for number, scope in enumerate(scopes):
        verdict = await store.check_and_add(page(number + 10, SOMETHING, scope=scope))
        assert verdict.match.page_id == number
        if "\ud800" not in scope:
            assert verdict.match.url == f"https://{scope}/"


async def test_namespaces_never_meet(place):
    for name in NAMESPACES:
        async with open_store(place.uri, namespace=name) as store:
            assert await outcome(store, page(1, SOMETHING)) == (Decision.NEW, None)
            await store.confirm(1)
    for name in NAMESPACES if place.survives else ():
        async with open_store(place.uri, namespace=name) as store:
            assert (await store.stats()).pages == 1
            assert await outcome(store, page(2, SOMETHING)) == (Decision.DUPLICATE, 1)
