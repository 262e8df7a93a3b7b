"""Which pages of one name in many folders are pages of their own."""

import pytest
from judging import analysed, kept, prose

from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.changing import Changing
from scrapy_neardup.judge.comparison import Refusal
from scrapy_neardup.judge.editions import _MAX_PAGES, _MAX_PATHS, OWN, SHOWN, Editions, _Editions
from scrapy_neardup.judge.evidence import DomPath, Evidence
from scrapy_neardup.judge.knowledge import ENTRY_BYTES, NOTHING, Folders
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.sites import Site

CITIES = [f"city{number}" for number in range(20)]


def page(name, folder, own, *, path="offices"):
    body = f"<p>{own}</p><p>{prose(name, 120)}</p><h2>End</h2>"
    return f"http://a.test/{path}/{folder}/{name}.html", f"<title>Our {name}</title>{body}"


def offices(*names, own="{city} office, {name} {number}"):
    return [
        page(name, city, own.format(city=city, name=name, number=number))
        for number, city in enumerate(CITIES)
        for name in names
    ]


@pytest.mark.parametrize("pages", [
    offices("contact", "hours", "team"),
    sorted(offices("contact", "hours", "team")),
    sorted(offices("contact", "hours", "team"), key=lambda each: each[0].rpartition("/")[2]),
    [page(name, city, f"{city} {name}" * (name != "terms"), path="")
     for city in CITIES for name in ("contact", "hours", "terms")],
])  # fmt: skip
def test_pages_with_a_text_of_their_own_in_each_folder_are_records(pages):
    found, released, verdicts = kept(pages, pages[1])
    assert sum(found) == len({html for _, html in pages})
    assert len(released) >= SHOWN - 1
    others = [each.nearest.decided for each in verdicts if each.nearest]
    assert any(each.rule is Refusal.OTHER_RECORD and each.learnt for each in others)


@pytest.mark.parametrize(("pages", "again"), [
    # all pages of a folder have the text
    (offices("contact", "hours", "team", own="Version {number}"), None),
    # most are the same
    ([page(name, city, city * (number % 3)) for number, city in enumerate(CITIES)
      for name in ("contact", "hours", "team")], None),
    # the text changes by itself
    (offices("contact", "hours", "team"), page("hours", "city0", "elsewhere")),
    # too few
    (offices("contact", "hours", "team")[:14], None),
])  # fmt: skip
def test_what_is_an_edition(pages, again):
    found, released, _ = kept(pages, again or pages[1])
    assert not released
    assert sum(found) < len(found)


def evidence(name, folder, rows, path=2):
    return Evidence(name=name, folder=folder, rows=rows, paths={path: DomPath(rows, 1)})


def test_what_is_remembered_is_bounded():
    editions, kept = _Editions(), evidence(1, 0, 9)
    for n in range(1, 2 * _MAX_PAGES):
        for path in 2, 2 * n:
            editions.add(n, evidence(1, n, n, path), kept)
    assert len(editions.members) == _MAX_PAGES == len(editions.rows[2])
    assert len(editions.rows) == _MAX_PATHS
    assert editions.nbytes >= _MAX_PAGES * ENTRY_BYTES


@pytest.mark.parametrize(("names", "same", "are_own"), [
    ((1, 2), 0, True), ((1, 2), 2, True), ((1, 2), 3, False), ((1,), 0, True), ((1,), 3, False),
])  # fmt: skip
def test_nearly_each_folder_must_have_its_own_text(names, same, are_own):
    number, editions = 19, Editions(Changing(Folders()))
    for name in names:
        kept = evidence(name, 0, 10**6 * name)
        for n in range(1, number):
            own = 5 if n <= same else 7 * n * (name + n)
            editions.used(name).add(n, evidence(name, n, own), kept)
    assert editions._are_own(1, 2) == are_own
    assert (number - max(0, same - 1) >= OWN * number) == (same < 3)


def test_a_crawl_goes_on_with_what_an_earlier_run_and_other_crawls_know():
    read = analysed(Analyser(Parameters()), offices("contact", "hours"))
    first, second, third = Site("first"), Site("second"), Site("third")
    by_name = {page.known.name: page.known for page in read[:2]}

    def drop(site, *pages):
        for page in pages:
            site.folders.meet(page.address)
        learn = site.records.learn_drop
        return [learn(page, NOTHING, 0, by_name[page.known.name]) for page in pages]

    before, after = read[2 : 2 * SHOWN - 2], read[2 * SHOWN - 2 :]
    released = drop(first, *before)
    assert not any(released)
    assert not first.records.editions.dump(complete=False)
    assert second.restore(first.dump(complete=True))
    released += drop(second, *after)
    asked = next(page for page in after if second.changing.questions.asks_again(page.id))
    same = asked.known, asked.known, (asked.text, asked.text)
    second.changing.learn_response(asked.address.place, *same)
    released += second.records.settle(), second.records.settle()
    assert sorted(sum(released, ())) == [page.id for page in read[2:]]
    assert drop(third, read[4], read[6]) == [(), ()]
    third.add_others([second.dump()])
    assert third.records.heard() == (4, 6)
    assert third.records.heard() == ()
    assert all(third.records.exclude(page.known).editions for page in read[8:10])
