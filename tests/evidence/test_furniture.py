"""What most pages of a site or folder share: counted by definition, and marked by definition."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.counts import MIN_PAGES, Counts
from scrapy_neardup.evidence.furniture import SiteFurniture
from scrapy_neardup.fingerprints import one_permutation_sketch


def shingles(*values):
    return np.array(sorted(values), np.uint64)


def test_furniture_is_what_a_quarter_of_the_pages_share():
    counts = Counts()
    for page in range(40):
        on_some = [2] if page % 3 == 0 else []
        on_few = [3] if page % 10 == 0 else []
        counts.add(shingles(1, *on_some, *on_few, 1000 + page))
    assert counts.furniture().tolist() == [1, 2]


def test_nothing_is_furniture_of_the_first_pages():
    counts = Counts()
    for _ in range(3):
        counts.add(shingles(1))
        assert counts.furniture().tolist() == []
    counts.add(shingles(1))
    assert counts.furniture().tolist() == [1]


def test_a_new_design_replaces_the_old_one():
    counts = Counts()
    for page in range(400):
        counts.add(shingles(1 if page < 100 else 2, 1000 + page))
    assert counts.furniture().tolist() == [2]


def test_memory_is_bounded():
    counts = Counts()
    for page in range(64):
        counts.add(np.arange(page * 5000, (page + 1) * 5000, dtype=np.uint64))
    assert len(counts.shingles) <= 8192 + 8 * 5000


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=1, max_size=7))
def test_counts_are_exact_while_few_pages_are_known(pages):
    counts = Counts()
    for page in pages:
        counts.add(shingles(*page))
    least = max(0.25 * len(pages), 3)
    expected = [s for s in range(31) if sum(s in page for page in pages) >= least]
    assert counts.furniture().tolist() == (expected if len(pages) > 3 else [])


def counted_by_definition(pages):
    """Counts as the room says, in plain Python: pages, and shingles with their counts."""
    total, counts, batch = 0.0, {}, []
    for page in pages:
        total += 1
        batch.append(page)
        if total < 4 or (total > 8 and len(batch) < 8):
            continue
        times = Counter(shingle for each in batch for shingle in each)
        for shingle, count in times.items():
            if shingle in counts or count > 1 or total <= 8:
                counts[shingle] = counts.get(shingle, 0) + count
        batch = []
        if total >= 8:
            counts = {each: count for each, count in counts.items() if count >= total / 16}
        if total >= 64:
            total, counts = total / 2, {each: count / 2 for each, count in counts.items()}
    return total, counts


@given(st.lists(st.floats(0.01, 0.9), min_size=1, max_size=40), st.integers(1, 150), st.data())
def test_counts_are_as_defined(shares, number, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    names = np.sort(random.integers(0, 2**64, len(shares), np.uint64))
    pages = [
        np.sort(np.append(names[random.random(len(names)) < shares], np.uint64(page)))
        for page in range(number)
    ]
    counts = Counts()
    for page in pages:
        counts.add(page)
    total, expected = counted_by_definition([page.tolist() for page in pages])
    assert counts.pages == total
    assert dict(zip(counts.shingles.tolist(), counts.counts.tolist(), strict=True)) == expected
    assert counts.shingles.tolist() == sorted(expected)


def test_counts_add_up():
    ours, theirs = Counts(), Counts()
    for page in range(2):
        ours.add(shingles(1, 10 + page))
        theirs.add(shingles(1, 20 + page))
    assert len(ours.furniture()) == 0
    assert ours.merged([Counts.load(theirs.dump())]).furniture().tolist() == [1]


@pytest.mark.parametrize("posted", [b"", b"abc", b"12345"])
def test_what_is_no_dump_counts_nothing(posted):
    assert Counts.load(posted).pages == 0


def test_folders_do_not_mix():
    site = SiteFurniture()
    for page in range(8):
        site.learn("//a/x/", shingles(1, 2, 10 + page))
        site.learn("//a/y/", shingles(1, 3, 20 + page))
    # Half of the site's pages have it, and all of the folder's.
    assert site.of("//a/x/").tolist() == [1, 2, 3]
    for page in range(64):
        site.learn("//a/z/", shingles(4, 100 + page))
    assert site.of("//a/x/").tolist() == [1, 2, 4]
    assert site.of("//a/z/").tolist() == [4]
    assert site.of("//a/unknown/").tolist() == [4]
    assert SiteFurniture().of("//a/x/").tolist() == []


def test_pages_of_a_folder_are_counted():
    site = SiteFurniture()
    assert site.pages_of("//a/x/") == 0
    for page in range(MIN_PAGES):
        site.learn("//a/x/", shingles(page))
    assert site.pages_of("//a/x/") == MIN_PAGES
    assert site.pages_of("//a/y/") == 0
    assert site.pages == MIN_PAGES


def test_what_a_folder_adds_changes_with_the_site_and_with_it():
    site, folder = SiteFurniture(), "//a/x/"
    for page in range(8):
        site.learn(folder, shingles(1, 10 + page))
    assert site.of(folder).tolist() == [1]
    for page in range(32):
        site.learn("//a/", shingles(2, 20 + page))
    assert site.of(folder).tolist() == [1, 2]
    for page in range(8):
        site.learn(folder, shingles(3, 60 + page))
    assert site.of(folder).tolist() == [1, 2, 3]


def test_folders_are_bounded():
    site = SiteFurniture()
    for number in range(1_000):
        site.learn(f"//a/{number}/", shingles(number))
        site.of(f"//a/{number}/")
    assert len(site._counts) <= 256
    assert len(site._found) <= 256


@pytest.mark.parametrize("bins", [16, 512])
def test_the_sketch_of_furniture_is_that_of_site_and_folder_together(bins):
    site, random = SiteFurniture(), np.random.default_rng(1)
    everywhere, here = (np.unique(random.integers(0, 2**63, 50, np.uint64)) for _ in range(2))
    assert site.sketch("//a/here/", bins).min() == 2**64 - 1
    for number in range(20):
        site.learn("//a/here/", np.union1d(everywhere, here))
        site.learn(f"//a/{number}/", everywhere)
        together = site.of("//a/here/")
        if len(together):
            expected = one_permutation_sketch(together, bins)
            assert site.sketch("//a/here/", bins).tolist() == expected.tolist()
