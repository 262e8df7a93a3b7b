"""Shingles that reach from equal content into the headers and footers of two editions."""

import pytest
from judging import judged, prose, words

from scrapy_neardup.judge.parameters import Parameters

PAGES = 20
"""Number of pages of an edition; its header and footer are known from the eighth."""
LAST = PAGES - 1


def edition(folder, last, title="Last", header=None, footer=None, *, titled=None):
    """Return the pages of an edition in a template of its own, with the text of the last one.

    All are `titled` so, if it is given.
    """
    header, footer = header or prose(f"header {folder}", 12), footer or prose(f"end {folder}", 12)
    texts = [prose(f"{folder} {number}", 40) for number in range(LAST)] + [last]
    titles = [prose(f"{folder} title {number}", 3) for number in range(LAST)] + [title]
    titles = [titled] * PAGES if titled else titles
    return [
        (
            f"http://a.example/{folder}/{number}.html",
            f"<title>{title}</title><div>{header}</div><p>{text}</p><div>{footer}</div>",
        )
        for number, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]


def repeats(text, length=60, **options):
    """Return whether the last page of the second edition repeats that of the first."""
    pages = edition("x", prose("last", length)) + edition("y", text, **options)
    return judged(pages, Parameters())[-1].is_duplicate


def changed(*places, count=60):
    """Return the last page's text with other words at these places."""
    text = words("last", count)
    for place in places:
        text[place] = "another"
    return " ".join(text)


def test_equal_content_in_another_template_is_found_if_the_titles_agree():
    assert repeats(changed())
    assert not repeats(changed(), title="Other")


def test_a_title_that_all_pages_of_a_site_share_is_no_other_title():
    found = []
    for text in (changed(), changed(0), changed(30), changed(-1)):
        pages = edition("x", changed(), titled="Members") + edition("y", text, titled="Members")
        found.append(judged(pages, Parameters())[-1].is_duplicate)
    assert found == [True, False, False, False]


@pytest.mark.parametrize("place", [0, 2, 3, 30, -4, -3, -1])
def test_a_word_that_differs_beside_the_template_counts(place):
    """Words beside a header are in shingles with it, as all words are in those with others."""
    assert not repeats(changed(place))


@pytest.mark.parametrize("place", [5, 6, -6])
def test_four_shingles_beside_the_template_must_be_equal(place):
    """Where they aren't, joints count: without them these pages are alike to .92."""
    assert repeats(changed(50, count=108), length=108)
    assert not repeats(changed(place, count=108), length=108)


@pytest.mark.parametrize("length", [2, 5, 9])
@pytest.mark.parametrize("places", [(), (-1,)])
def test_content_of_a_few_words_counts(length, places):
    """It stands in joints alone, or nearly."""
    assert not repeats(changed(*places, count=length), length)


@pytest.mark.parametrize(("count", "place"), [(15, None), (15, 0), (15, 7), (15, -1)])
def test_short_content_must_be_equal(count, place):
    other = changed(*[place] * (place is not None), count=count)
    header, footer = prose("header", 12), prose("footer", 12)
    pages = edition("x", changed(count=count), header=f"{header} one of us", footer=footer)
    pages += edition("y", other, header=f"{header} two of us", footer=footer)
    assert judged(pages, Parameters())[-1].is_duplicate == (place is None)


def test_a_template_that_both_editions_have_leaves_content_beside_it_as_it_is():
    same = {"header": prose("header", 12), "footer": prose("footer", 12)}
    pages = edition("x", changed(), **same) + edition("y", changed(0), **same)
    assert not judged(pages, Parameters())[-1].is_duplicate
