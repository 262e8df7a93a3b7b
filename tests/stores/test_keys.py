"""The key of a namespace: what it makes of a page, who has it, and what it keeps off."""

import random
from functools import partial
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_registry import PLACES, keep, page

from scrapy_neardup.errors import ConfigurationError, StoreMismatchError
from scrapy_neardup.fingerprints import PUBLIC_KEY, token_hashes
from scrapy_neardup.fingerprints.shingles import hashes_of
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.admin import is_store, store_admin
from scrapy_neardup.stores.entryformat import ENTRY, ENTRY_DTYPE, EXACT_BIT, partition
from scrapy_neardup.text import parse_html
from scrapy_neardup.verdict import Decision

SHINGLE, SIZE = 4, 1792
_MARGIN = 3.0
"""Shingles by which a bit of the fingerprint should lead before others are seen to."""


def random_words(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(count)]


def forged(victim: str, fingerprint: int, seed: int = 1) -> str:
    """Write words whose shingles have this fingerprint, and the sketch of the victim's text."""
    hashed = partial(token_hashes, key=None)
    wanted = np.zeros(SIZE, np.bool_)
    wanted[_places(hashes_of(hashed(victim), SHINGLE))] = True
    signs = np.where(_bits(np.array([fingerprint], np.uint64))[0], 1, -1)
    vocabulary = random_words(6000, seed)
    tokens = hashed(" ".join(vocabulary))
    chosen = [0, 1, 2]
    is_set = np.zeros(SIZE, np.bool_)
    lead = np.zeros(64)
    while not ((is_set == wanted).all() and (lead > 0).all()):
        runs = np.empty((len(tokens), SHINGLE), np.uint64)
        runs[:, :3], runs[:, 3] = tokens[chosen[-3:]], tokens
        shingles = np.array(hashes_of(runs.ravel(), SHINGLE)[::SHINGLE])
        bits = _places(shingles)
        fits = wanted[bits] & ~is_set[bits]
        if not fits.any():
            fits = wanted[bits]
        fits[chosen] = False
        places = np.flatnonzero(fits)
        gains = signs * (2 * _bits(shingles[places]).astype(np.int64) - 1)
        best = np.exp((-gains - lead) / _MARGIN).sum(axis=1).argmin()
        place = int(places[best])
        chosen.append(place)
        lead += gains[best]
        is_set[bits[place]] = True
    return " ".join(vocabulary[place] for place in chosen)


def _places(shingles: np.ndarray) -> np.ndarray:
    """The bits of a sketch that shingles set."""
    return (((shingles >> np.uint64(32)) * np.uint64(SIZE)) >> np.uint64(32)).astype(np.int64)


def _bits(values: np.ndarray) -> np.ndarray:
    octets = np.ascontiguousarray(values, "<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, bitorder="little")


PARAMETERS = Parameters()
HTML = "<title>One title</title><p>{}</p>"


@pytest.fixture(params=[name for name in sorted(PLACES) if name != "memory"])
def place(request):
    with PLACES[request.param]() as found:
        yield found


async def key_of(uri, hash_key=None, **options):
    async with open_store(uri, hash_key=hash_key, **options) as store:
        await keep(store, page(1, 1))
        return store.key


async def judged(uri, hash_key, *texts):
    """Judge a page of each of two sites; return the decisions."""
    schema, found = PARAMETERS.schema() if hash_key == PUBLIC_KEY else None, []
    options = {"hash_key": hash_key, "schema": schema, "matching": PARAMETERS.matching}
    async with open_store(uri, **options) as store:
        detector = Detector(Analyser(Parameters(hash_key=store.key)), store)
        for number, text in enumerate(texts):
            content = detector.analyser.read(parse_html(HTML.format(text)))
            url = f"http://site-{number}.example/page"
            page = detector.analyser.page(content, page_id=number, url=url)
            found.append((await detector.decide(page)).decision)
            await store.confirm(number)
    return found


@pytest.mark.parametrize("name", sorted(PLACES))
async def test_a_page_forged_with_the_public_key_is_no_copy_in_a_store_with_its_own(name):
    victim = " ".join(random_words(700, 7))
    content = Analyser(PARAMETERS).read(parse_html(HTML.format(victim)))
    fingerprint = Analyser(PARAMETERS).page(content, page_id=1, url=None).fingerprint
    forgery = forged(victim, fingerprint)
    assert not set(forgery.split()) & set(victim.split())
    known, own = [Decision.NEW, Decision.DUPLICATE], [Decision.NEW, Decision.NEW]
    for hash_key, decisions in ((PUBLIC_KEY, known), (None, own), (b"secret", own)):
        with PLACES[name]() as place:
            assert await judged(place.uri, hash_key, forgery, victim) == decisions


def test_no_host_name_is_found_with_the_tag_of_another_host():
    """Of 41,730 names one had a tag of 31 bits that a host out of 5,000 had."""

    def old_tag(name):
        digest = blake2b(name.encode(), digest_size=12, person=b"simhash").digest()
        return int.from_bytes(digest[:4], "little") & ~1

    victims = [f"www.shop-{number}.example" for number in range(5_000)]
    names = [f"{number:x}.attacker.example" for number in range(500_000)]
    assert {old_tag(name) for name in victims} & {old_tag(name) for name in names}
    for key in (PUBLIC_KEY, b"own"):
        tags = {partition(name, exact=False, key=key).tag for name in victims}
        assert not tags & {partition(name, exact=False, key=key).tag for name in names[:41_730]}
    # What was found with one key is nothing with another one.
    public, own = (partition(victims[0], exact=False, key=key) for key in (PUBLIC_KEY, b"own"))
    assert public.tag != own.tag
    assert public.mask != own.mask


async def test_a_namespace_has_a_key_and_keeps_it(place):
    keys = [await key_of(place.uri, namespace=name) for name in ("a", "a", "b")]
    assert keys[0] == keys[1] != keys[2]
    assert len(keys[0]) == 16
    public = [await key_of(place.uri, key, namespace="c") for key in (PUBLIC_KEY, None)]
    assert public == [PUBLIC_KEY, PUBLIC_KEY]


@pytest.mark.parametrize(("made", "wanted", "said"), [
    (None, PUBLIC_KEY, "a key of its own"), (None, b"secret", "a key of its own"),
    (PUBLIC_KEY, b"secret", "the public key"), (b"secret", PUBLIC_KEY, "another key"),
    (b"secret", b"other", "another key"), (b"secret", None, "another key"),
])  # fmt: skip
async def test_another_key_is_refused(place, made, wanted, said):
    key = await key_of(place.uri, made)
    with pytest.raises(StoreMismatchError, match=f"was made with {said}") as raised:
        await key_of(place.uri, wanted)
    message = str(raised.value)
    assert "Set NEARDUP_HASH_KEY as it was then" in message
    assert not any(each in message for each in ("secret", key.hex()))
    assert await key_of(place.uri, made) == key


@pytest.mark.parametrize(("made", "shown"), [(None, "own"), (PUBLIC_KEY, "public")])
async def test_a_key_is_not_shown(place, made, shown):
    if not is_store(place.uri):
        pytest.skip("such a store isn't looked at from outside")
    key = await key_of(place.uri, made)
    async with store_admin(place.uri) as admin:
        report = await admin.report("default")
    assert report.parameters["hash_key"] == shown
    assert "key" not in report.parameters
    assert key.hex() not in str(report)


async def test_a_server_that_was_emptied_gets_the_key_again(server):
    async with open_store(server.uri, hash_key=None) as store:
        await store.check_and_add(page(1, 1))
        server.client().flushall()
        assert (await store.check_and_add(page(1, 1))).decision is Decision.NEW
        assert await key_of(server.uri) == store.key
        server.client().flushall()
        await key_of(server.uri)  # another crawl comes first
        with pytest.raises(StoreMismatchError, match="a key of its own"):
            await store.check_and_add(page(2, 2**40))


async def test_stores_in_memory_have_a_key_each():
    assert len({await key_of("memory:") for _ in range(3)}) == 3
    assert await key_of("memory:", b"secret") == b"secret"


def test_a_schema_of_another_key_is_refused():
    schema = Parameters(hash_key=b"secret").schema()
    with pytest.raises(ConfigurationError, match="another hash_key"):
        open_store("memory:", schema=schema)
    open_store("memory:", schema=schema, hash_key=b"secret")


def test_a_record_is_the_same_for_struct_and_numpy():
    values = (2**64 - 1, 2, 3, 2**32 - 1, 5)
    packed = ENTRY.pack(*values)
    assert len(packed) == ENTRY_DTYPE.itemsize == 32
    assert np.frombuffer(packed, ENTRY_DTYPE)[0].item() == values


@pytest.mark.parametrize(("scope", "exact", "key", "tag", "mask"), [
    ("", False, PUBLIC_KEY, 0, 0),  # in the usual store a key is the fingerprint
    ("", True, PUBLIC_KEY, 0x5DD92B4B3A459095, 0xEC757849CDFB6353),
    ("example.org", False, PUBLIC_KEY, 0xCFAEABA5FC2B28A0, 0xC267EE4DF15A8EF7),
    ("example.org", True, PUBLIC_KEY, 0x7EA435DBC6C63931, 0xE55E45EAEC7B127C),
    ("bücher.example", False, PUBLIC_KEY, 0x60B11B2FDC9A90E0, 0xF59172DC8872792D),
    ("example.org", False, b"secret", 0x4318CE58FD1AF9E4, 0xADE5268B87DAA532),
])  # fmt: skip
def test_partitions_are_the_same_for_ever(scope, exact, key, tag, mask):
    """They are part of what is written to files and servers."""
    assert partition(scope, exact, key) == (tag, mask)


@given(st.text(), st.text(), st.booleans(), st.booleans())
def test_partitions_differ(scope, other, exact, other_exact):
    ours, theirs = partition(scope, exact), partition(other, other_exact)
    assert (ours == theirs) == ((scope, exact) == (other, other_exact))
    assert bool(ours.tag & EXACT_BIT) == exact
    assert 0 <= ours.tag < 2**64
    assert 0 <= ours.mask < 2**64
