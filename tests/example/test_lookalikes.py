"""Modules alike: exact, whatever the order and the sizes."""

from docsite.library import Module
from docsite.lookalikes import ALIKE, lookalikes, shingles
from hypothesis import given
from hypothesis import strategies as st


def module(name, *words):
    return Module(name, "", f"<h1>{' '.join(words[:2])}</h1>", (" ".join(words[2:]),))


def test_shingles_are_of_text_not_of_markup():
    page = Module("m", "ignored", "<h1>A&nbsp;b</h1>", ("C<br>d", "<p title='no'>E</p>"))
    assert shingles(page) == {("a", "b", "c", "d"), ("b", "c", "d", "e")}
    assert shingles(Module("m", "", "a b", ())) == {("a", "b")}


def test_the_boundary_belongs_to_those_alike():
    words = [f"w{number}" for number in range(40)]  # 37 shingles
    library = {
        "all": module("all", *words),
        "less": module("less", *words[4:]),  # 33 of 37: .892
        "more": module("more", *words[3:]),  # 34 of 37: .919
    }
    assert lookalikes(library) == {"all": {"more"}, "more": {"all", "less"}, "less": {"more"}}


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=14), max_size=7))
def test_equal_to_comparing_all_pairs(texts):
    library = {str(number): module("", *text) for number, text in enumerate(texts)}
    sets = {name: shingles(page) for name, page in library.items()}
    assert lookalikes(library) == {
        one: {
            two
            for two in library
            if two != one and len(sets[one] & sets[two]) >= ALIKE * len(sets[one] | sets[two])
        }
        for one in library
    }
