"""Each sentence of the judgement, on pages made for it."""

from dataclasses import replace

import numpy as np
import pytest
from judging import prose, sketch_of

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.comparison import FAR, Comparison, Refusal, Rule
from scrapy_neardup.judge.evidence import bits_of
from scrapy_neardup.judge.knowledge import NOTHING, Excluded
from scrapy_neardup.judge.pair import AtHand, Pair
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.sites import Context
from scrapy_neardup.text import parse_html
from scrapy_neardup.verdict import Candidate

BEST = Parameters()
SIZES = BEST.matching.sketch


def page(html, url="http://a.example/d/1", title="One"):
    analyser = Analyser(BEST)
    content = analyser.read(parse_html(f"<title>{title}</title>{html}".encode()))
    return analyser.page(content, page_id=hash((html, url, title)) & 0xFFFF, url=url)


class Known:
    """Sites of which this is known."""

    version = 0

    def __init__(self, excluded=NOTHING, *, few=False):
        self.excluded, self.few = excluded, few

    def exclude(self, evidence):
        return self.excluded._replace(
            segments=self.excluded.segments & evidence.segments,
            paths=self.excluded.paths.intersection(evidence.paths),
        )

    def has_few_pages(self, *_):
        return self.few


def decided(ours, theirs, excluded=NOTHING, *, few=False, prefers=False, distance=0, **settings):
    known, parameters = Known(excluded, few=few), Parameters(**settings)
    context = Context(knowledge=known, parameters=parameters, prefers_canonical=prefers)
    known = context.knowledge.exclude(ours.known)
    comparison = Comparison(ours, AtHand(ours.known, known, ours.text, SIZES, context))
    return comparison.decide(Candidate(theirs.id, distance, theirs.evidence))


def at(path):
    return f"http://a.example/{path}"


def text(*parts):
    return "".join(f"<p>{prose(seed, count)}</p>" for seed, count in parts)


WHOLE = text((1, 300))
SIMILAR = text((1, 300), (2, 8))  # .97
LESS = text((1, 300), (2, 20))  # .93
MUCH_LESS = text((1, 300), (2, 50))  # .85


@pytest.mark.parametrize(("html", "title", "url", "rule"), [
    (WHOLE, "One", "d/2", Rule.EQUAL),
    (SIMILAR, "One", "d/2", Rule.ALIKE),
    (LESS, "One", "d/2", Rule.ALIKE),
    (MUCH_LESS, "One", "d/2", Refusal.UNLIKE),
    (SIMILAR, "Two", "e/1", Rule.RETITLED),
    (SIMILAR, "Two", "d/2", Refusal.UNLIKE),
    (LESS, "Two", "e/1", Refusal.UNLIKE),
    (MUCH_LESS, "One", "d/1?sid=31415926535897932384", Refusal.UNLIKE),
    (MUCH_LESS, "One", "d/1?id=3", Refusal.UNLIKE),
    (LESS, "One", "d/1?from=3", Rule.ALIKE),
    (text((3, 300)), "One", "d/1", Refusal.UNLIKE),
])  # fmt: skip
def test_how_alike_pages_must_be(html, title, url, rule):
    made = decided(page(html, at(url), title), page(WHOLE))
    assert made.rule == rule
    assert made.is_same == (made.resemblance >= made.needed)


def test_what_is_needed_follows_the_setting():
    one, other = page(SIMILAR, "http://a.example/e/1", "Two"), page(WHOLE)
    needed = [decided(one, other, min_resemblance=least).needed for least in (0.8, 0.9, 0.98)]
    assert needed == pytest.approx([0.9, 0.95, 0.99])
    met = page(MUCH_LESS, "http://a.example/d/1?sid=31415926535897932384")
    assert decided(met, other, min_resemblance=0.8).needed == 0.8


def test_pages_of_one_path_whose_titles_share_nothing_are_not_compared_if_they_are_far_apart():
    pages = [("i?id=2", "Two"), ("i?id=2", "One (print)"), ("i?id=2", "One"), ("j", "Two")]
    ours, *others = [page(WHOLE, at(path), title) for path, title in [("i?id=1", "One"), *pages]]
    near, far = ([decided(ours, p, distance=d).is_same for p in others] for d in (FAR, FAR + 1))
    assert (near, far) == ([True, True, True, True], [False, True, True, True])
    site = Excluded(segments=ours.known.segments)
    assert not decided(ours, others[1], site, distance=FAR + 1).is_same


def test_rows_may_stand_in_any_order():
    rows = [f"<tr><td>{prose(n, 3)}</td><td>{prose(-n, 2)}</td></tr>" for n in range(1, 60)]
    orders = enumerate((rows, rows[::-1]))
    both = [page(f"<table>{''.join(each)}</table>", at(number)) for number, each in orders]
    assert decided(*both, few=True).rule is Rule.EQUAL


def test_where_little_is_known_pages_must_be_equal_unless_their_paths_agree():
    other = page(WHOLE)
    assert decided(page(SIMILAR, "http://a.example/d/2"), other, few=True).rule is Refusal.UNEQUAL
    assert decided(page(WHOLE, "http://a.example/d/2"), other, few=True).rule is Rule.EQUAL
    assert decided(page(SIMILAR, "http://a.example/d/1?a=1"), other, few=True).is_same
    untitled = [page(html, f"http://a.example/{html[3:9]}", "") for html in (WHOLE, SIMILAR[::-1])]
    assert not decided(*untitled, few=True).is_same
    same_words = page(SIMILAR, "http://b.example/", ""), page(WHOLE, title="")
    assert decided(*same_words, few=True).rule is Rule.ALIKE


@pytest.mark.parametrize(("count", "rules"), [
    (45, {Refusal.OTHER_MEDIA, Refusal.UNEQUAL}), (400, {Rule.EQUAL}),
])  # fmt: skip
def test_other_media_contradict_beside_little_text(count, rules):
    html = text((1, count)) + "<img src=/{}.png>"
    ours, theirs = (page(html.format(n), at(n)) for n in (1, 2))
    assert decided(ours, theirs).rule in rules
    assert decided(ours, page(html.format(2), at(1))).is_same


def test_elements_named_as_boilerplate_count_unless_addresses_agree():
    html = text((1, 200)) + "<div class=menu>{}</div>"
    one, other, far = (html.format(text(part)) for part in ((2, 18), (3, 18), (4, 60)))
    theirs = page(one, "http://a.example/4.1/page.html")
    assert not decided(page(other, "http://a.example/4.1/other.html"), theirs).is_same
    found = decided(page(other, "http://a.example/4.2/page.html"), theirs)
    assert (found.rule, found.identity) == (Rule.ALIKE, "same name, same title")
    assert decided(page(far, "http://a.example/4.2/page.html"), theirs).rule is Refusal.UNLIKE


@pytest.mark.parametrize(("folder", "names", "beside", "is_same"), [
    ("../de/", "abcdefgh", "", True),  # navigation in another language
    ("/x/", "abcdefgh", "", True),
    ("../de/", "abcdefgi", "", False),  # a chapter's own pages
    ("../de/", "abcdefg", "", False),
    ("../de/", "abcdefgh", text((9, 80)), False),  # other words stand beside the links
    ("../de/?of=", "abcdefgh", "", False),
])  # fmt: skip
def test_links_to_pages_of_the_same_names_are_navigation(folder, names, beside, is_same):
    def shown(language, folder, names, beside=""):
        links = [f"<a href={folder}{name}.html#top>{prose(f'{language} {name}', 8)}</a>"
                 for name in names]  # fmt: skip
        toc = f"<ul class=toc><li>{'<li>'.join(links)}</ul><div class=toc>{beside}</div>"
        return page(text((1, 100)) + toc, at(f"{language}/page.html"))

    theirs = shown("en", "", "abcdefgh")
    assert decided(shown("de", folder, names, beside), theirs).is_same == is_same


@pytest.mark.parametrize(("links", "is_same"), [
    ("{name}?hl={language}", True),
    ("{name}?hl={language};this", True),  # one lacks it
    ("{name}?hl={language};{name}", False),  # half of them do
    ("{name}?sid={language}&hl={language}", True),
    ("menu?at={name}&hl={language}", True),
    ("{name}?hl={language};this?hl=fr", True),  # to the page in other languages
    ("menu?at={name}&of={language}{name}", False),  # each leads to another page
    ("{name}{language}?hl={language}", False),
])  # fmt: skip
def test_a_parameter_that_most_links_carry_says_nothing_of_their_pages(links, is_same):
    def shown(language, path):
        names = (each.format(name=name, language=language) for name in "abcdefgh"
                 for each in links.split(";"))  # fmt: skip
        listed = [f'<a href="{name}">{prose(language + name, 8)}</a>' for name in names]
        return page(f"{text((1, 100))}<div class=menu>{'<br>'.join(listed)}</div>", at(path))

    assert decided(shown("de", "page?hl=de"), shown("en", "page")).is_same == is_same


class Menu:
    def __init__(self, shingles):
        self.shingles = shingles

    def sketch(self, size, level):
        return sketch_of(self.shingles, size, level).bits


def test_boilerplate_of_either_page_counts_in_neither():
    menus = [text((seed, 200)) for seed in (8, 9)]
    ours, theirs = (page(menu + WHOLE, f"http://a.example/{n}") for n, menu in enumerate(menus))
    assert not decided(ours, theirs).is_same
    shared = tuple(Menu(page(menu).text.shingles) for menu in menus)
    found = decided(ours, theirs, Excluded(shared=shared, by=("boilerplate",)))
    assert (found.is_same, found.learnt) == (True, ("boilerplate",))
    again = page(menus[0] + WHOLE, "http://a.example/2")
    found = decided(ours, again, Excluded(shared=shared, by=("boilerplate",)))
    assert (found.rule, found.learnt) == (Rule.EQUAL, ())  # it is equal all the same
    # Where it is all of a page, pages must be equal.
    one, other = page(menus[0], "http://a.example/1"), page(menus[0] + "<p>x y</p>")
    assert decided(one, other, Excluded(shared=shared)).rule is Refusal.UNEQUAL


CHANGES = f"{WHOLE}<div class=x>{{}}</div>{text((2, 50))}"


def twice(html, *addresses):
    """Return a page with two contents of its element that changes, at these addresses."""
    return [page(html.format(prose(n, 100)), at(each)) for n, each in enumerate(addresses, 3)]


def changing(html, named=False):
    """Return what is known if the only element of class x, or menu, is another each time."""
    ours, theirs = (each.known.paths for each in twice(html, "d/1", "d/1"))
    [path] = [each for each, at in ours.items() if each in theirs and at.rows != theirs[each].rows]
    assert path & 1 == named
    assert bits_of([*ours], {path}).bit_count() == 1
    return Excluded(paths=frozenset({path}), by=("changing",))


@pytest.mark.parametrize(("address", "is_same"), [
    ("d/1", True), ("d/1?sid=31415926535897932384", True), ("d/1?id=7", True), ("print/1", True),
    ("d/2", False), ("d/2?id=7", False), ("e/", False),
])  # fmt: skip
def test_text_that_changes_does_not_count_where_part_of_the_addresses_agrees(address, is_same):
    ours, theirs = twice(CHANGES, address, "d/1")
    excluded = changing(CHANGES)
    assert not decided(ours, theirs).is_same
    found = decided(ours, theirs, excluded)
    assert found.is_same == is_same
    if is_same:
        assert (found.rule, found.learnt) == (Rule.EQUAL, ("changing",))
    other = page(CHANGES.format(prose(3, 100)), at(address), "Other")
    assert not decided(other, theirs, excluded).is_same


def test_beside_text_that_changes_rows_may_stand_in_any_order():
    rows = [f"<tr><td>{prose(n, 3)}</td></tr>" for n in range(40)]
    html = "<table>{}</table><p>It is {}</p>"
    ours, theirs = (
        page(html.format("".join(each), prose(n, 5)), f"http://a.example/d/1?sort={n}")
        for n, each in enumerate((rows, rows[::-1]), 50)
    )
    [clock, *_] = ours.known.paths  # the last one of the page
    excluded = Excluded(paths=frozenset({clock}), by=("changing",))
    assert decided(ours, theirs, excluded).rule is Rule.EQUAL
    assert decided(ours, theirs).rule is Refusal.UNLIKE


def test_beside_text_that_changes_other_rows_are_not_equal_by_chance():
    """Of a thousand sums of 16 bits some are the same."""
    pages = [page(f"{prose(n, 20)}<div class=x>{prose(n, 9)}</div>").known for n in range(1_000)]
    sums = [each.rows_without([*each.paths][:1])[0] for each in pages]
    assert len({each & 0xFFFF for each in sums}) < len({*sums}) == len(pages)


@pytest.mark.parametrize(("html", "addresses"), [
    (CHANGES, ["print.php?id=7", "article.php?id=7"]),
    (f"{WHOLE}<div class=menu>{{}}</div>", ["d/1?visit=3", "d/1?visit=4"]),
])  # fmt: skip
def test_neither_does_it_under_one_number_of_two_scripts_nor_in_named_elements(html, addresses):
    both = twice(html, *addresses)
    assert not decided(*both).is_same
    assert decided(*both, changing(html, named="menu" in html)).rule is Rule.EQUAL


def test_text_that_changes_counts_where_next_to_nothing_else_does():
    """A list whose pages share an introduction, where lists change on other pages."""
    html = f"{WHOLE}<ul class=x>{{}}</ul>"
    ours, theirs = twice(html, "archive?page=3", "archive?page=4")
    known = changing(html)
    assert decided(ours, theirs, known).is_same
    known = known._replace(shared=(Menu(page(WHOLE).text.shingles),))
    assert not decided(ours, theirs, known).is_same
    again = page(html.format(prose(5, 100)), at("archive?page=4"))
    assert decided(again, theirs, known).is_same  # one address is one page


def test_media_that_change_do_not_contradict():
    html = text((1, 100)) + "<img src=/{}.png>"
    ours, theirs = (page(html.format(n), f"http://a.example/{n}/page") for n in (1, 2))
    assert decided(ours, theirs, few=True).rule is Refusal.OTHER_MEDIA
    assert decided(ours, theirs, Excluded(media=True), few=True).is_same
    elsewhere = page(html.format(3), "http://a.example/3/other")
    found = decided(elsewhere, theirs, Excluded(media=True), few=True)
    assert found.rule is Refusal.OTHER_MEDIA


def test_segments_that_are_the_site_s_say_nothing():
    ours = page(LESS, "http://a.example/2", "News | The Site")
    theirs = page(WHOLE, "http://a.example/1", "News | Another")
    assert decided(ours, theirs).rule is Refusal.UNLIKE
    sites = ours.known.segments ^ theirs.known.segments
    assert decided(ours, theirs, Excluded(segments=sites)).rule is Rule.ALIKE


@pytest.mark.parametrize(("title", "heading", "other", "is_same"), [
    ("Part 7", "Part 7", "", True),
    ("Part 7 - The site", "Part 7", "", True),
    ("Part 7 - The site", "Part 7", "Part 8", False),
    ("Part 7 - The site", "Part 7", "The site", False),
    ("The site - Part 7", "Part 7", "", False),  # so that a part of a section is another page
])  # fmt: skip
def test_a_heading_that_repeats_the_title_may_be_missing(title, heading, other, is_same):
    one, another = f"<h1>{heading}</h1>{WHOLE}", (f"<h1>{other}</h1>" if other else "") + LESS
    found = decided(page(another, at("print/x"), title), page(one, at("d/7"), title))
    assert found.is_same is is_same


def test_strict_titles_count_with_their_numbers():
    one, other = page(SIMILAR, "http://a.example/e/1", "Part 2"), page(WHOLE, title="Part 1")
    assert decided(one, other).rule is Rule.ALIKE
    assert decided(page(SIMILAR, "http://a.example/2", "Part 2"), other).rule is Refusal.UNLIKE
    assert decided(one, other, titles="strict").rule is Refusal.UNEQUAL
    for few in (False, True):
        assert decided(page(LESS, at("2"), "B"), other, few=few, titles="ignore").is_same


def test_short_pages_are_equal_or_not():
    def short(words, title="One", url="http://a.example/2"):
        return page(f"<p>{words}</p>", url, title)

    theirs = short("just a few words here")
    assert decided(short("just a few words here"), theirs).is_same
    assert not decided(short("just a few other words"), theirs).is_same
    assert not decided(short("just a few words here", "Two"), theirs).is_same
    photo = short("just a few words here<img src=/photo.jpg>", url="http://a.example/2?id=5")
    assert decided(photo, theirs).rule is Refusal.OTHER_MEDIA  # at one path, too
    assert decided(page(WHOLE), replace(theirs, evidence=b"")).rule is Refusal.OTHER_KIND


def test_a_canonical_page_is_kept_beside_one_that_names_it_where_that_is_asked_for():
    link = "<link rel=canonical href=/d/1>"
    copy = page(WHOLE, "http://a.example/print/1", f"One</title>{link}<title>")
    original = page(WHOLE)
    assert decided(original, copy).is_same
    assert decided(original, copy, prefers=True).rule is Refusal.CANONICAL
    assert decided(copy, original, prefers=True).is_same


LAMP, SOFA = ("<img src=1.jpg>", "Blue lamp"), ("<img src=2.jpg>", "Red sofa")


@pytest.mark.parametrize(("ours", "theirs", "is_same"), [
    (LAMP, LAMP, True),
    (LAMP, SOFA, False),  # products, one of which may be the page that both name
    (LAMP, (LAMP[0], "Red sofa"), False),
    (LAMP, (SOFA[0], "Blue lamp"), True),
    (("", ""), ("", ""), True),
    (("", ""), ("", "Red sofa"), False),
])  # fmt: skip
def test_a_canonical_is_a_hint_where_titles_agree(ours, theirs, is_same):
    link = "<link rel=canonical href=/>"
    pages = [
        page(f"{link}{body}{html}", f"http://a.example/{where}", title)
        for (body, title), html, where in ((ours, WHOLE, "d/1"), (theirs, SIMILAR, "e/2"))
    ]
    assert decided(*pages, few=True).is_same == is_same
    if ours[1]:
        assert not decided(*pages, Excluded(canonicals=True), few=True).is_same


def test_what_coarse_sketches_of_named_elements_may_hide_counts():
    for seed in range(40):
        shared, main = prose(f"{seed} menu", 1400), text((f"{seed} main", 120))
        menus = {each: f"<div class=menu>{shared} {prose(f'{seed} {each}', 240)}</div>"
                 for each in ("arm64", "ppc64el")}  # fmt: skip
        both = [page(menu + main, at(f"{each}/index.html")) for each, menu in menus.items()]
        assert not decided(*both).is_same  # .76 of what they show is alike


def test_the_scale_of_all_text_is_that_of_its_kinds_on_average():
    named = f"<div class=menu>{prose('menu', 900)}</div>"
    scales = []
    for beside in ("", named):
        ours, theirs = (page(text((1, 4000), (seed, 500)) + beside) for seed in (2, 3))
        at_hand = AtHand(ours.known, Excluded(), ours.text, SIZES, Context(knowledge=Known()))
        scales.append(Pair(at_hand, theirs.known, Excluded()).views())
    plain, mixed = scales
    assert plain.text_scale == plain.all_scale > 1
    of_named = 1.0  # both have the same menu, so it isn't estimated
    wanted = np.average([mixed.text_scale, of_named], weights=[sum(mixed.text), 897])
    assert mixed.all_scale == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize("beside", ["", "A few words beside the only element."])
def test_names_say_nothing_of_a_page_that_stands_in_named_elements_alone(beside):
    pages = [page(f"<div class={each}>{WHOLE}</div>{beside}") for each in ("header", "page")]
    assert pages[0].known.sketches == pages[1].known.sketches


@pytest.mark.parametrize("named", ["header", "banner", "toc", "related"])
def test_a_row_may_be_named_on_one_page_alone(named):
    row = "Name and description of each"
    pages = [page(f"{WHOLE}<div class={each}>{row}</div>") for each in ("th", named)]
    assert decided(*pages).rule is Rule.EQUAL
    other = page(f"{WHOLE}<div class={named}>{row} method</div>")
    assert decided(pages[0], other).rule is not Rule.EQUAL
