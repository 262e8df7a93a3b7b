"""What ends every response and is never the same: learnt, and not judged."""

import asyncio
import random

import pytest

from scrapy_neardup.changing import ChangingEnds
from scrapy_neardup.detector import Analyser, Detector
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Content

CHANCE = random.Random(4)


def words(seed, count):
    chance = random.Random(seed)
    return " ".join(f"w{chance.randrange(10**6)}" for _ in range(count))


def sentence():
    return words(CHANCE.random(), 16)


def met(ends, number, query, *, folder="", length=40, last=sentence, after="", title=""):
    """Strip a page of 40 words that ends with what `last` says."""
    text = f"\n Page {number}\n{words(number, length)}\n\n{last()}\n{after} \n"
    url = f"http://a.example/{folder}{number}{query}"
    return ends.strip(Content(text, title), url).text


def taught(pages=4, **options):
    ends = ChangingEnds()
    for number in range(pages):
        met(ends, number, "", **options)
        met(ends, number, "?sid=1", **options)
    return ends


def test_a_last_line_that_changes_is_learnt_from_pages_met_again():
    ends = taught(3)
    assert met(ends, 3, "", last=lambda: "one").split()[-1] == "one"
    # The fourth that says so. That it was judged with the first one's last line is remembered.
    own = f"Page 3 {words(3, 40)} ".split(" ")
    assert met(ends, 3, "?sid=1", last=lambda: "another").split() == [*own[:-1], "one"]
    assert met(ends, 4, "", last=lambda: "one").split() == f"Page 4 {words(4, 40)}".split()
    assert met(ends, 4, "?sid=1").split() == f"Page 4 {words(4, 40)}".split()


def folders(count=8, **options):
    """Return what is known after these pages were met in two folders."""
    ends = ChangingEnds()
    for number in range(count):
        met(ends, number, "", folder="a/", **options)
        met(ends, number, "", folder="b/", **options)
    return ends


def learnt(ends):
    return met(ends, 99, "", last=lambda: "last").split()[-1] != "last"


def test_file_names_met_again_in_another_folder_are_evidence():
    assert learnt(folders(length=100))
    assert not learnt(folders(7, length=100))


def test_so_are_digits():
    visits = iter(range(1000, 9000, 7))
    assert learnt(folders(length=100, last=lambda: f"This page was shown {next(visits)} times"))


def test_editions_that_end_in_their_own_way_are_not():
    ends = ChangingEnds()
    for number in range(30):
        for language in ("C++", "Java"):
            text = f"{words(number, 100)}\n{words(-number, 6)} the {language} method of {number}"
            ends.strip(Content(text), f"http://a.example/{language}/{number}")
    assert not learnt(ends)


def test_one_that_ends_as_before_says_that_nothing_changes():
    ends = folders(20, length=100)
    assert learnt(ends)
    for folder in "ab":
        met(ends, 50, "", folder=f"{folder}/", length=100, last=lambda: "last")
    assert not learnt(ends)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"length": 40}, id="a short page"),
        pytest.param({"length": 100, "last": lambda: words(CHANCE.random(), 40)}, id="a long end"),
        pytest.param({"length": 100, "last": lambda: "last"}, id="nothing that changes"),
    ],
)
def test_in_another_folder_it_has_to_be_the_same_page(options):
    assert not learnt(folders(30, **options))


def test_other_titles_in_another_folder_are_other_pages():
    ends = ChangingEnds()
    for number in range(30):
        for folder in "ab":
            met(ends, number, "", folder=f"{folder}/", length=100, title=folder)
    assert not learnt(ends)


def test_one_file_name_speaks_once():
    """Indexes of folders, each with the text of another, and a list of their own at the end."""
    ends = ChangingEnds()
    for number in range(30):
        for folder in "ab":
            url = f"http://a.example/{folder}{number}/index.html"
            ends.strip(Content(f"{words(number, 100)}\n{sentence()}"), url)
    assert not learnt(ends)


def test_white_space_tells_no_pages_apart():
    ends = ChangingEnds()
    for number in range(8):
        for space in " \n":
            text = words(number, 100).replace(" ", space) + f"\n{sentence()}"
            ends.strip(Content(text), f"http://a.example/{ord(space)}/{number}")
    assert learnt(ends)


@pytest.mark.parametrize("after", ["© 2026", "© 2026\nAll rights reserved"])
def test_what_follows_it_goes_along(after):
    assert met(taught(after=after), 9, "", after=after).split()[-1] == words(9, 40).split()[-1]


def test_not_further_than_three_lines_from_the_end():
    after = "one\ntwo\nthree"
    assert met(taught(after=after), 9, "", after=after).split()[-1] == "three"


def test_not_more_than_a_few_sentences():
    assert not learnt(taught(last=lambda: words(CHANCE.random(), 60)))


def test_lines_that_stay_the_same_stay():
    assert not learnt(taught(20, last=lambda: "last"))


def test_session_ids_that_differ_are_evidence_too():
    ends = ChangingEnds()
    for number in range(4):
        met(ends, number, "?sid=1")
        met(ends, number, "?sid=2")
    assert learnt(ends)


def test_other_pages_of_few_scripts_are_no_evidence():
    """Products that share all but their last line: one path speaks once."""
    ends = ChangingEnds()
    for script in "abc":
        for number in range(30):
            text = f"{words(number // 3, 40)}\nProduct {script}{number}"
            url = f"http://a.example/{script}?product={number}"
            assert ends.strip(Content(text), url).text == text


def test_one_page_does_not_speak_for_its_site():
    ends = ChangingEnds()
    for number in range(20):
        met(ends, 1, f"?sid={number}")
        met(ends, 1, "")
    assert not learnt(ends)


def test_little_else_is_no_evidence():
    ends = ChangingEnds()
    for number in range(20):
        for query in "", "?sid=1":
            text = f"Loading {number}\n{sentence()}"
            assert ends.strip(Content(text), f"http://a.example/{number}{query}").text == text


def test_sites_are_known_apart():
    content = Content(f"{words(1, 40)}\nlast")
    ends = taught()
    assert ends.strip(content, "http://b.example/") == content
    assert ends.strip(content, None) == content
    assert ends.strip(content, "http://[") == content
    assert ends.strip(content, "http://u:p@A.example/").text == words(1, 40)


def test_a_site_may_change_its_ways():
    ends = taught(40)
    for number in range(40, 80):
        met(ends, number, "", last=lambda: "last")
        met(ends, number, "?sid=1", last=lambda: "last")
    assert not learnt(ends)


def test_the_core_loses_them_too_and_nothing_else_changes():
    ends = taught()
    own = words(1, 40)
    content = Content(
        f"menu\n{own}\nlast", title="t", images=("i",), data=("d",), core=own + "\nlast"
    )
    stripped = ends.strip(content, "http://a.example/x")
    assert stripped == Content(f"menu\n{own}", title="t", images=("i",), data=("d",), core=own)
    assert ends.strip(Content("only this"), "http://a.example/y") == Content("only this")


@pytest.mark.parametrize("core", [None, "", "\nlast"])
def test_a_page_judged_before_is_judged_as_it_was(core):
    def content(end):
        own = words(1, 40)
        return Content(
            f"menu\n{own}\n{end}", core=None if core is None else own + core.replace("last", end)
        )

    ends = ChangingEnds()
    ends.strip(content("first"), "http://a.example/x")
    for number in range(4):
        met(ends, number, "")
        met(ends, number, "?sid=1")
    assert ends.strip(content("second"), "http://a.example/y") == content("first")


def judged(*pages):
    """Judge contents at their addresses, in a crawl of their own."""

    async def run():
        async with open_store("memory:") as store:
            detector = Detector(Analyser(Parameters()), store)
            return [
                await detector.judge(content, page_id=number, url=f"http://a.example/{path}")
                for number, (content, path) in enumerate(pages)
            ]

    return asyncio.run(run())


def test_in_a_crawl():
    pages = [
        (Content(f"Page {number}\n{words(number, 40)}\n{sentence()}"), f"{number}{query}")
        for number in range(30)
        for query in ("", "?sid=1")
    ]
    verdicts = judged(*pages)
    decisions = [str(verdict.decision) for verdict in verdicts]
    assert decisions[:6] == ["new", "new"] * 3
    assert decisions[6:] == ["new", "duplicate"] * 27
    assert "without its last lines" in verdicts[-1].explain()


def test_pages_that_were_kept_before_it_was_learnt_are_known():
    texts = {number: words(number, 100) for number in range(30)}
    pages = [
        (Content(f"{text}\n{sentence()}", core=text), f"{folder}/{number}")
        for folder in range(2)
        for number, text in texts.items()
    ]
    decisions = [str(verdict.decision) for verdict in judged(*pages)]
    assert decisions[:37] == ["new"] * 37
    assert decisions[37:] == ["duplicate"] * 23
