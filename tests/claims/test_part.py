"""Parts of URLs: what a URL is without one, and by which one two URLs differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.claims.part import (
    CASE,
    KINDS,
    MAX_NAMES,
    PARAMETER,
    PATH_PARAMETER,
    PATTERN,
    SCHEME,
    SEGMENT,
    SLASH,
    SPENT,
    WHOLE,
    WWW,
    Part,
    difference,
    parts_of,
)
from scrapy_neardup.claims.urlparts import Parts

HOST = "http://example.com"

PAIRS = [
    ("/a/b/", "/a/b", Part(SLASH)),
    ("/a/index.html", "/a/", Part(SEGMENT, "index.html", "", -1)),
    ("/print/a/b", "/a/b", Part(SEGMENT, "print", None, 0)),
    ("/print/a/", "/module/a/", Part(SEGMENT, "print", "module", 0)),
    ("/docs/en_GB/x", "/docs/en/x", Part(SEGMENT, "en_GB", "en", 1)),
    ("/a/b/c/d/print", "/a/b/c/d", Part(SEGMENT, "print", None, -1)),
    ("/print/a?x=1", "/a?x=1", Part(SEGMENT, "print", None, 0)),
    ("/Ab/C", "/ab/c", Part(CASE)),
    ("/a/b", "/c/d", None),
    ("/a", "/a/b/c", None),
    ("/print/a?x=1", "/a", None),
    ("/a/17", "/a/18", None),  # numbers tell pages apart
    ("/17/a", "/a", None),
    ("/a?x=1", "/a", None),  # its relatives are found by the parameter itself
    (f"/{'x' * 201}/a", "/a", None),
]


@pytest.mark.parametrize(("one", "other", "part"), PAIRS)
def test_two_paths_differ_by_one_part(one, other, part):
    one, other = Parts.of(HOST + one), Parts.of(HOST + other)
    assert difference(one, other) == part
    if part is not None:
        assert part.without(one) == other
        assert part.without(other) == other


@pytest.mark.parametrize(("one", "other", "part"), [
    ("http://www.example.com", HOST, Part(WWW)),
    (HOST, "https://example.com", Part(SCHEME)),
    ("http://www.example.com", "https://example.com", None),
    ("http://www.example.com", "http://other.example.com", None),
])  # fmt: skip
def test_hosts_differ_by_www_or_by_https_alone(one, other, part):
    assert difference(Parts.of(f"{one}/a"), Parts.of(f"{other}/a")) == part


def test_parameters_are_parts_alone_and_all_together():
    page = Parts.of(f"{HOST}/a;s=1/b?x=1&y=2")
    assert parts_of(page) == [
        Part(PARAMETER, "x"), Part(PARAMETER, "y"), Part(PARAMETER, "x&y"),
        Part(PATH_PARAMETER, "s"),
    ]  # fmt: skip
    urls = [part.without(page).url.removeprefix(HOST) for part in parts_of(page)]
    assert urls == ["/a;s=1/b?y=2", "/a;s=1/b?x=1", "/a;s=1/b", "/a/b?x=1&y=2"]
    many = Parts.of(f"{HOST}/?" + "&".join(f"p{number:02}=1" for number in range(16)))
    assert len(parts_of(many)) == MAX_NAMES + 1


def test_values_are_those_of_the_parameters_in_question():
    page = Parts.of(f"{HOST}/a;s=1;t=1/b?x=1&y=2&s=3")
    one, other = (Part(kind, "s").values(page) for kind in (PATH_PARAMETER, PARAMETER))
    assert len(one) == len(other) == 1
    assert one != other
    [x], [y] = (Part(PARAMETER, name).values(page) for name in "xy")
    assert Part(PARAMETER, "x&y").values(page) == [x, y + 1]
    assert Part(SEGMENT, "s", "", -1).values(page) == []


SEGMENTS = st.lists(st.sampled_from(["a", "b", "print", "B", "c;s=1", "c;s=2"]), max_size=4)
QUERIES = st.lists(st.sampled_from(["x=1", "x=2", "y=1", "sid=3"]), max_size=3)
URLS = st.builds(
    "http://{}example.com/{}{}?{}".format, st.sampled_from(["", "www."]), SEGMENTS.map("/".join),
    st.sampled_from(["", "/"]), QUERIES.map("&".join),
).map(Parts.of)  # fmt: skip

CHANGES = [
    lambda parts: parts._replace(www=""),
    lambda parts: parts._replace(segments=parts.segments[1:] or ("",)),
    lambda parts: parts._replace(segments=("a", *parts.segments[1:])),
    lambda parts: parts._replace(segments=tuple(map(str.lower, parts.segments))),
]


@given(URLS, st.sampled_from(CHANGES))
def test_what_a_page_differs_by_leads_to_the_other_one(page, change):
    other = change(page)
    part = difference(page, other)
    if part is not None:
        assert part.without(page) == other != page
        assert part.without(other) == other or part.kind == SEGMENT


@given(URLS)
def test_urls_without_a_part_have_one_key(page):
    for part in parts_of(page):
        without = part.without(page)
        assert without != page
        assert part.without(without) == without
        name = part.what.split("&")[0]
        if part.kind == PARAMETER:
            again = without._replace(query=tuple(sorted((*without.query, f"{name}=other"))))
            again = Part(PARAMETER, part.what).without(again)
            assert part.key(again) == part.key(without)
        assert part.key(without) != Part(part.kind, "another").key(without)


def test_every_kind_says_what_it_is():
    said = {str(Part(kind, "what", "by")) for kind in KINDS}
    said |= {str(Part(SEGMENT, "index.html", "")), str(Part(SEGMENT, "print", None))}
    assert len(said) == len(KINDS) + 2
    assert str(Part(PARAMETER, "a&b")) == "?a=…&b=… has no effect"


def test_every_kind_can_be_left_out_and_another_one_is_an_error():
    page = Parts.of("http://www.example.com/what/A;what=1/?what=1")
    assert {kind for kind in KINDS if Part(kind, "what", "by").without(page) == page} == WHOLE
    with pytest.raises(KeyError):
        Part("paramter", "what").without(page)


@pytest.mark.parametrize("kind", [PATTERN, SPENT])
def test_all_that_tells_the_urls_of_a_pattern_apart_is_no_part_of_one(kind):
    page = Parts.of(f"{HOST}/a?b=1")
    assert Part(kind).without(page) is page
