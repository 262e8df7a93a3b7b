"""At which place of its pages a site's records stand."""

import pytest
from judging import analysed, kept, prose

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.comparison import Refusal
from scrapy_neardup.judge.knowledge import MIN_PAGES, NOTHING
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.records import _MAX_MEMBERS, SHOWN, _are_own, _Group
from scrapy_neardup.judge.sites import Site

CITIES = ["Berlin", "Oslo", "Lima", "Quito", "Delhi", "Cairo", "Paris", "Rome", "Bern"]


def job(number, city, *, folder="jobs", more=""):
    body = f"<p>{city}</p><p>{prose(1, 120)}</p>{more}"
    return f"http://a.test/{folder}/{number}", f"<title>A job</title><h1>Cook</h1>{body}"


def labels():
    """Texts of one word, each at a DOM path of its own: more than a page's evidence holds."""
    return "".join(
        f"{'<div>' * n}<p>{prose(f'label {n}', 1)}</p>{'</div>' * n}" for n in range(12)
    )


def listed(first):
    return "".join(f"<li>{CITIES[(first + place) % 9]} hall" for place in range(9))


def test_pages_without_a_place_count_once_among_those_with_their_own_texts():
    """Text -> its number of pages; 0 stands for no text."""
    group, own = _Group(), dict.fromkeys(range(1, SHOWN), 1)
    for more, are_own in ({}, False), ({0: 1}, True), ({0: 100}, True), ({SHOWN: 2}, False):
        group.rows[7] = own | more
        assert _are_own({1: group}, 7) == are_own


def test_a_group_counts_a_bounded_number_of_texts_at_a_place():
    group = _Group()
    for own in range(3 * _MAX_MEMBERS):
        group._count(7, own % (2 * _MAX_MEMBERS), {1000})
    assert len(group.rows[7]) == _MAX_MEMBERS + 1
    assert group.rows[7][0] == 2


@pytest.mark.parametrize("more", ["", labels()], ids=["", "among labels"])
@pytest.mark.parametrize("folder", ["jobs", "jobs/{0}", "jobs/{1}"])
def test_pages_that_differ_at_a_place_that_does_not_change_are_records(folder, more):
    """They may have a folder each, or share it with few others."""
    pages = [
        job(number, f"{city} and around", folder=folder.format(number, number % 4), more=more)
        for number, city in enumerate(CITIES)
    ]
    found, released, verdicts = kept(pages, pages[1])
    assert all(found)
    assert len(released) >= SHOWN - 1  # and those dropped for other pages of the folder
    assert verdicts[-1].nearest.decided.rule is Refusal.OTHER_RECORD
    assert verdicts[-1].nearest.decided.learnt[-1:] == ("records",)
    assert sum(kept(pages, pages[1], ["boilerplate", "changing", "titles"])[0]) <= 3


def test_variants_of_a_page_that_was_met_in_another_folder_are_records():
    pages = [
        job(f"lamp?variant={n}" if n else "lamp", f"{city} blue", folder=f"jobs/{n > 0:d}")
        for n, city in enumerate(CITIES)
    ]
    assert all(kept(pages, pages[1])[0])


@pytest.mark.parametrize("medium", [
    "<img src={}>", "<div data-lat={}></div>", "<video src={}>", "<svg><path d={} /></svg>",
])  # fmt: skip
def test_media_say_it_too(medium):
    pages = [job(n, "Here", more=medium.format(city)) for n, city in enumerate(CITIES)]
    assert all(kept(pages, pages[1])[0])


@pytest.mark.parametrize(("pages", "again"), [
    # the place changes by itself
    ([job(n, city) for n, city in enumerate(CITIES)], job(1, "Tunis")),
    # editions and mirrors: only the folder differs, with or without session ids
    ([job(1, city, folder=city) for city in CITIES], job(1, "Oslo", folder="Oslo")),
    *[([job(f"1?sid={n}" if n >= first else "1", f"{city} and around", folder=f"jobs/{n}")
        for n, city in enumerate(CITIES)], job("1?sid=1", "Oslo and around", folder="jobs/1"))
      for first in (0, 1)],
    # some texts come again
    ([job(n, CITIES[n % 3]) for n in range(9)], job(1, "Oslo")),
    # too few
    ([job(n, city) for n, city in enumerate(CITIES[: SHOWN - 1])], job(1, "Oslo")),
    # equal rows in another order
    ([job(n, "x", more=listed(n)) for n in range(9)], job(1, "x", more=listed(1))),
])  # fmt: skip
def test_what_is_no_record(pages, again):
    found, released, _ = kept(pages, again)
    assert not released
    assert sum(found) < len(found)


def test_copies_of_another_page_are_not_requested_again():
    pages = [job(n, "Here", more=f"<img src={city}>") for n, city in enumerate(CITIES)]
    other = f"<title>Other</title><p>{prose(5, 120)}</p><img src=other>"
    pages[2:2] = [(f"http://a.test/jobs/{name}", other) for name in ("other", "copy")]
    found, released, _ = kept(pages, pages[1])
    assert found == [True, True, True, False, *[True] * 7]
    assert len(released) == SHOWN - 1


def test_a_crawl_with_half_of_the_group_goes_on():
    analyser = Analyser(Parameters())
    read = analysed(analyser, [job(number, city) for number, city in enumerate(CITIES)])
    first, second, kept = Site("me"), Site("you"), read[0]
    learn = lambda site, page: site.records.learn_drop(page, NOTHING, kept.id, kept.known)
    first.folders.used(kept.known.folder).place = 1
    first.changing.learn_response(1, kept.known, kept.known, (kept.text, kept.text))
    assert not any(learn(first, page) for page in read[1:3])
    assert second.restore(first.dump(complete=True))
    second.folders.used(kept.known.folder).place = 1
    assert [learn(second, page) for page in read[3:5]] == [(), (1, 2, 3, 4)]
    records = second.records.exclude(read[6].known).records
    assert records
    third = Site("third")
    third.add_others([second.dump()])
    assert third.records.exclude(read[6].known).records == records
    assert first.records.dump(complete=True)
    assert not first.records.dump(complete=False)  # others don't need it
    assert first.records.nbytes > 0


@pytest.mark.parametrize(("again", "released"), [(0, (1, 2, 3, 4)), (3, ())])
def test_texts_that_come_again_before_the_second_response_are_no_records(again, released):
    pages = [job(number, city) for number, city in enumerate(CITIES[:SHOWN])]
    pages += [job(number, "Oslo", more=f"<h4>{number}</h4>") for number in range(10, 10 + again)]
    read = analysed(Analyser(Parameters()), pages)
    site, kept = Site("me"), read[0]
    site.folders.used(kept.known.folder).place = 1
    for page in read[1:]:
        assert site.records.learn_drop(page, NOTHING, kept.id, kept.known) == ()
    assert site.records.settle() == ()
    site.changing.learn_response(1, kept.known, kept.known, (kept.text, kept.text))
    assert site.records.settle() == released


def test_the_page_that_is_requested_again_answers_for_those_of_other_folders():
    pages = [job(n, f"{city} and around", folder=f"jobs/{city}") for n, city in enumerate(CITIES)]
    site, (kept, *dropped) = Site("me"), analysed(Analyser(Parameters()), pages)
    for page in dropped:
        site.folders.meet(page.address)
        assert site.records.learn_drop(page, NOTHING, kept.id, kept.known) == ()
    asked = next(page for page in dropped if site.changing.questions.asks_again(page.id))
    same = asked.known, asked.known, (asked.text, asked.text)
    site.changing.learn_response(asked.address.place, *same)
    assert {page.id for page in dropped} <= {*site.records.settle()}


NAMES = [
    "Mia Lee", "Ann Kay", "Joe Fox", "Lea Roth", "Ben Ito", "Eva Ruiz", "Tom Berg", "Ida Holm",
]  # fmt: skip


def reply(number, name, *, more=""):
    """An article with comments, as it is shown to somebody who answers one of them."""
    comments = "".join(
        f"<p>{each} says: {prose(place + 20, 9)}</p>" for place, each in enumerate(NAMES)
    )
    heading = f"<h3>Leave a reply to {name}. Cancel</h3>" if name else "<h3>Leave a reply</h3>"
    body = f"<h1>A post</h1><p>{prose(3, 400)}</p>{comments}{heading}<p>Your address</p>{more}"
    return f"http://a.test/jobs/post?to={number}", f"<title>A post</title>{body}"


def test_a_heading_that_quotes_the_page_is_no_record():
    pages = [reply(0, ""), *[reply(n, name) for n, name in enumerate(NAMES, start=1)]]
    found, released, _ = kept(pages, pages[1])
    assert not released
    assert found == [True, *[False] * len(NAMES)]


def test_a_list_of_all_names_beside_each_page_quotes_nothing():
    beside = "".join(f"<li>{city} and its surroundings" for city in CITIES)
    pages = [job(n, city, more=beside) for n, city in enumerate(CITIES)]
    found, released, _ = kept(pages, pages[1], beside=beside)
    assert all(found)
    assert len(released) >= SHOWN - 1


def course(number, date, *, shows=True):
    """A course, with one of its dates chosen or none; all courses have other texts."""
    chosen = f"<p class=date>{date}, room {date.upper()}</p>" if shows else ""
    address = f"http://a.test/jobs/course{number}{f'?date={date}' if date else ''}"
    text = f"<div>{prose(f'course {number}', 200)}</div>"
    return address, f"<title>Course {prose(number, 2)}</title>{text}{chosen}<p>All dates</p>"


def courses(number, dates):
    return [
        course(each, f"d{each}x{date}" if date else "", shows=date > 0)
        for each in range(number)
        for date in range(dates + 1)
    ]


async def test_pages_are_requested_again_if_another_crawler_finds_that_they_are_records():
    read = analysed(Analyser(Parameters()), [job(n, city) for n, city in enumerate(CITIES[:3])])
    first, *dropped = read
    site, other = Site("me"), Site("other")
    site.folders.meet(first.address)
    for page in dropped:
        assert site.records.learn_drop(page, NOTHING, first.id, first.known) == ()
    [group] = site.records.own.values()
    other.folders.meet(first.address)
    other.folders.used(first.known.folder).records = frozenset(group.rows)
    site.add_others([other.dump()])
    assert site.records.heard() == tuple(page.id for page in dropped)
    assert site.records.heard() == ()
    assert not site.records.own


@pytest.mark.parametrize(("number", "dates"), [(1, 9), (6, 2), (6, 3)])
def test_the_kept_page_may_lack_the_place_and_small_groups_count_together(number, dates):
    pages = courses(number, dates)
    found, released, _ = kept(pages, pages[1])
    assert all(found)
    assert released


def test_pages_that_were_dropped_before_their_folder_was_known_are_requested_again():
    pages = [job(f"lamp?v={number}", city) for number, city in enumerate(CITIES[:3])]
    pages += [job(f"desk?v={number}", city) for number, city in enumerate(CITIES[:SHOWN])]
    read = analysed(Analyser(Parameters()), pages)
    first, early, second, later = read[0], read[1:3], read[3], read[4:]
    site, folders = Site("me"), first.address.folders
    site.folders.meet(first.address)
    site.changing.learn_response(first.address.place, first.known, first.known, (first.text,) * 2)
    for page in early:
        assert site.records.learn_drop(page, NOTHING, first.id, first.known) == ()
    for _ in range(MIN_PAGES):
        site.folders.learn(folders)
    released = [site.records.learn_drop(p, NOTHING, second.id, second.known) for p in later]
    assert {page.id for page in early} <= {*sum(released, ())}


@pytest.mark.parametrize("more", ["", "<img src={}>"], ids=["text", "media"])
def test_copies_of_records_do_not_count(more):
    """Such as variants that are linked with a session, too."""
    pages = [
        job(f"{number}?s={session}", "Here" if more else city, more=more.format(city))
        for number, city in enumerate(CITIES)
        for session in range(3)
    ]
    found, released, _ = kept(pages, pages[1])
    assert released
    assert [*map(any, zip(*[iter(found)] * 3, strict=True))] == [True] * len(CITIES)
    assert sum(found) <= len(CITIES) + 1


def test_pages_that_show_what_the_kept_page_shows_do_not_count():
    """A product in three categories, and its variants."""
    pages = []
    for number in range(6):
        _, html = course(number, "", shows=False)
        for view in ("", "all", "new", "sale"):
            shown = f"<h4>{view}</h4><img src={number}>"
            pages.append((f"http://a.test/jobs/course{number}?in={view}", html + shown))
        for variant in range(2):
            shown = f"<img src={number}-{variant}>"
            pages.append((f"http://a.test/jobs/course{number}?v={variant}", html + shown))
    found, released, _ = kept(pages, pages[1])
    assert released
    assert all(found[4::6] + found[5::6])


def test_the_kept_page_may_be_in_another_folder():
    """The product is met in a category first, and its variants elsewhere."""
    pages = []
    for number in range(6):
        _, first = course(number, "", shows=False)
        pages.append((f"http://a.test/sale/spring/course{number}", first))
        pages += [course(number, f"d{number}x{date}") for date in (1, 2)]
    found, released, _ = kept(pages, pages[1])
    assert released
    assert all(found)


def test_translations_into_several_languages_are_no_records():
    """They have other names, and each says in its own words when it was changed."""
    languages = "en", "de", "fr"
    pages = [
        (f"http://a.test/{language}/only{number}", prose(f"only {language} {number}", 60))
        for language in languages
        for number in range(9)
    ]
    for number in range(6):
        for language in languages:
            _, html = course(number, f"{language}{number}x")
            pages.append((f"http://a.test/{language}/{language}{number}", html))
    found, released, _ = kept(pages, pages[1])
    assert not released
    assert found[-18:] == [True, False, False] * 6


def test_mirrors_under_other_names_are_no_records():
    pages = [job(number, city) for number, city in enumerate(CITIES)]
    mirrored = [(url.replace("a.test", "b.test") if n else url, html)
                for n, (url, html) in enumerate(pages)]  # fmt: skip
    _, released, _ = kept(mirrored, pages[1])
    assert not released


def test_of_a_place_that_no_second_response_had_one_is_asked_for():
    """Only two pages were requested twice so far, which had no such place."""
    pages = courses(6, 3)
    found, released, _ = kept([*courses(1, 0), *pages[4:]], pages[0])
    assert sum(found) > len(found) - 4
    assert released


COPIES, COUNTED = courses(9, 1), courses(6, 3)


@pytest.mark.parametrize(("pages", "again", "share"), [
    (COPIES, COPIES[1], 1),  # a copy of each page
    (COUNTED, (COUNTED[1][0], course(0, "d0x9")[1]), 0.5),  # a counter in the place
])  # fmt: skip
def test_neither_a_copy_of_each_page_nor_a_counter_is_a_record(pages, again, share):
    found, released, _ = kept(pages, again)
    assert not released
    assert sum(found) < len(found) * share


@pytest.mark.parametrize("blocks", [4, 7, 14])
def test_a_line_among_larger_blocks_is_found(blocks):
    tags = [
        "em", "b", "h3", "dd", "dt", "h4", "label", "h5", "small", "cite", "h6", "td", "th", "q",
    ]  # fmt: skip
    larger = [f"<div class=b{tag}><{tag}>{prose(tag, 9)}</{tag}></div>" for tag in tags[:blocks]]
    beside = "".join(larger)
    pages = [job(n, f"<i>{city} Street</i>", more=beside) for n, city in enumerate(CITIES)]
    assert all(kept(pages, pages[1])[0])
