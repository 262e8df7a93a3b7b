"""The crawl among traps: its site is finite and finds itself, its counts are right."""

import re
from collections import deque
from dataclasses import replace
from http import HTTPStatus

import pytest
import traps
from crawling import Crawl, Record
from forked import python
from trapsite import CALENDAR, HOME, MISSING, Traps, TrapSite
from traptruth import SORTED, Truth, judge

WORDS = [f"w{number}" for number in range(400)]


def write(folder, **pages):
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<title>{name}</title>{body}")
    return folder


def every_url(site):
    """Follow all links as a crawler does, without one."""
    found, waiting = {}, deque(["/"])
    while waiting:
        if (here := waiting.popleft()) in found:
            continue
        found[here] = _, text = site.answer(here)
        assert len(found) < 20_000
        hrefs = [href.replace("&amp;", "&") for href in re.findall(r'href="([^"#]+)', text)]
        waiting += [href if href.startswith("/") else here + href for href in hrefs]
    return found


@pytest.fixture(scope="module")
def editions(tmp_path_factory):
    return traps.made_up(tmp_path_factory.mktemp("site"))


def test_the_site_is_finite_and_every_page_and_trap_is_reached(editions):
    traps = Traps(years=3, growth=4, broken=0.2)
    site = TrapSite(editions, traps)
    answers = every_url(site)
    showings = [site.locate(url) for url in answers]
    assert {status for status, _ in answers.values()} == {HTTPStatus.OK}
    assert {s.page for s in showings} == {*site.contents, HOME, CALENDAR, MISSING}
    assert sum(s.page == CALENDAR for s in showings) == 36
    assert {s.trap for s in showings} == {
        "", "calendar", "soft 404", "session id", "campaign", "sort order", "printable",
    }  # fmt: skip
    assert max(url.count("help/") for url in answers) == 4
    assert answers == every_url(TrapSite(editions, traps))
    assert answers.keys() != every_url(TrapSite(editions, replace(traps, seed=1))).keys()


def test_links_stay_on_the_site(tmp_path):
    links = ("b.html#x", "http://elsewhere.example/", "gone.html", "mailto:a@b.test", "http://[")
    body = "".join(f'<a href="{link}">to</a>' for link in links)
    write(tmp_path, a=f'<base href="http://elsewhere.example/">{body}', b="<p>text</p>")
    site = TrapSite(tmp_path, Traps(sid=0, utm=0, sort=0, print=0, broken=0, years=0))
    _, text = site.answer("/a.html")
    assert re.findall(r'href="([^"]*)', text) == ["/b.html#x", "/gone.html"]
    assert site.links == {"a.html": ["b.html"], "b.html": []}
    assert site.answer("/gone.html")[0] is HTTPStatus.NOT_FOUND
    assert site.home == ["a.html"]


def test_the_footer_changes_and_the_truth_knows_nothing_of_it(tmp_path):
    text = "<nav>menu</nav><div class=tpl>template</div><p>the text of the page itself</p>"
    write(tmp_path, a=text)
    site = TrapSite(tmp_path, Traps(footer="number,timing,sentence", boilerplate=".tpl"))
    one, two = (site.answer(f"/a.html?sid={number}")[1] for number in (1, 2))
    assert one != two
    assert one.partition("Visitor")[0] == two.partition("Visitor")[0]
    assert "template" in one
    assert "template" not in site.answer("/print/a.html")[1]
    assert site.contents["a.html"].text.split() == ["the", "text", "of", "the", "page", "itself"]


def crawl(*records):
    """Return a crawl of (URL, the page it was dropped for, or "")."""
    found = [Record(f"http://h{url}", 200, of=f"http://h{of}" if of else None, called=not of)
             for url, of in records]  # fmt: skip
    return Crawl("test", found, {"finish_reason": "finished"})


@pytest.fixture
def alike(tmp_path):
    """Pages a and b of J = .98 (and c, which only b links to), d of its own, with a list."""
    text, turned = " ".join(WORDS), " ".join(reversed(WORDS))
    items = "".join(f"<li>{WORDS[n]} {WORDS[-n]}</li>" for n in range(30, 0, -1))
    more = f'{text} more and still more <a href="c.html">c</a>'
    write(tmp_path, a=text, b=more, c=turned, d=f"<ul>{items}</ul>")
    return TrapSite(tmp_path, Traps(boilerplate=""))


def test_the_tally_of_a_crawl_that_is_known(alike):
    everything = crawl(
        ("/a.html", ""), ("/b.html", ""), ("/c.html", ""), ("/d.html", ""),
        ("/d.html?sort=size", ""), ("/a.html?sid=1", ""), ("/calendar/2001/01/", ""),
        ("/d.html/help/", ""), ("/d.html/help/help/", ""),
    )  # fmt: skip
    filtered = crawl(
        ("/a.html", ""), ("/a.html?sid=1", "/a.html"), ("/b.html", "/a.html"),
        ("/d.html", "/b.html"),
        ("/calendar/2001/01/", ""), ("/calendar/2001/02/", "/calendar/2001/01/"),
    )  # fmt: skip
    truth = Truth(alike, [everything, filtered])
    tally = judge(everything, truth)
    assert tally.duplicates == {
        "all": 4, "J = 1": 2, ".95 <= J < .99": 1, SORTED: 1,
        "another page": 1, "sort order": 1, "session id": 1, "soft 404": 1,
    }  # fmt: skip
    assert not any(tally.found.values())
    assert tally.coverage == [0.5, 0.5, 0.75, 1, 1, 1, 1, 1, 1]
    assert (tally.kept, tally.dropped, tally.precision) == (9, 0, 1)

    tally = judge(filtered, truth)
    assert tally.duplicates["all"] == tally.found["all"] == 2
    assert tally.precision == pytest.approx(2 / 3)
    assert [record.url for record in tally.wrong] == ["http://h/d.html"]
    assert (tally.lost, tally.withheld, tally.direct) == (["d.html"], ["c.html"], 1)
    assert tally.coverage == [0.5] * 6
    assert (tally.covered(3), tally.covered(100)) == (0.5, 0.5)
    assert (tally.to_reach(0.5), tally.to_reach(0.51)) == ("1", "never")
    assert tally.months == {False: 1, True: 1}


@pytest.mark.benchmark
def test_a_quick_run(tmp_path):
    later = "later:NEARDUP_ACTION=deprioritize,NEARDUP_PRIORITY_ADJUST=-1000"
    options = ["--quick", "--runs=simhash", "--run", later, "--examples=1"]
    done = python(traps.__file__, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = filter(None, done.stdout.splitlines())
    table = {line[:32].strip(): line[32:].split() for line in lines}
    assert table[""][:3] == ["none", "simhash", "later"]
    none, simhash, later = map(int, table["requests"])
    assert simhash <= none == later  # on so small a site most withheld links are tried
    assert [*map(int, table["pages withheld"])] == [0, 0, 0]  # links of dropped pages are asked
    assert not list(tmp_path.iterdir())
