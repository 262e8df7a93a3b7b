"""What a detector learns: once of each page, kept for the next run, within bounds."""

import json
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from judging import judged, prose, store_for

from scrapy_neardup.crawl.experiments.refetch import DUE
from scrapy_neardup.judge import knowledge
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.comparison import Refusal
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.evidence import Evidence
from scrapy_neardup.judge.knowledge import MIN_PAGES, NOTHING, Excluded
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.judge.shingling import Text
from scrapy_neardup.judge.sites import _MEASURED, Site, Sites
from scrapy_neardup.judge.sketch import SharedShingles
from scrapy_neardup.text import Content, parse_html

of_text = Content.of_text

PARAMETERS = Parameters()
TITLE = "<title>{} of the site</title>"


def analysed(html, url):
    analyser = Analyser(PARAMETERS)
    content = analyser.read(parse_html(html.encode()))
    return analyser.page(content, page_id=hash(url) % 2**64, url=url)


def page(seed, advert="", address=None, length=12, head=""):
    shown = prose(f"advert {advert}", length)
    html = f"{head}{TITLE.format(seed)}<p>{prose(seed)}</p><div class=x>{shown}</div>"
    return analysed(html, f"http://a.example/{address or seed}")


def again(number, **differs):
    """Return a page under another session, where its advert has changed."""
    address = f"{number}?sid=31415926535897932384"
    return page(number, advert=address, address=address, **differs)


async def ask_again(detector, number, **differs):
    """Learn from two responses to the request for a page, between which its advert changes."""
    responses = [page(number, advert=f"{number} {visit}", **differs) for visit in range(2)]
    return await detector.learn_response(*responses)


def make(store, **calls):
    return Detector(Analyser(PARAMETERS), store, job="test", **calls)


def site_of(detector):
    [site] = detector._sites
    return site


def pages_of(detector):
    return site_of(detector).folders.pages(page(0).known.host)


def rule_of(detector, name):
    return next(rule for rule in site_of(detector).rules if rule.name == name)


async def test_a_page_that_is_withdrawn_and_judged_again_teaches_once():
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        for _ in range(5):
            assert (await detector.decide(page(1))).decision == "new"
            await store.forget(page(1).id)
        assert pages_of(detector) == 1
        await detector.decide(page(2))
        assert pages_of(detector) == 2


async def test_what_a_request_teaches_counts_once_it_was_shown_twice():
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        assert not await ask_again(detector, 1)  # of a site that isn't known
        await detector.decide(page(1))
        assert not await ask_again(detector, 1)
        assert await ask_again(detector, 2)
        assert not await ask_again(detector, 3)
        unjudged = Analyser(PARAMETERS).page(of_text(""), page_id=1, url="http://a.example/4")
        assert unjudged.decision == "unjudged"
        assert not await detector.learn_response(page(4), unjudged)
        assert rule_of(detector, "changing").exclude(page(5).known).paths


async def test_what_changes_in_one_folder_is_known_in_another_once_it_was_shown_there():
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        await detector.decide(page(1))
        there = {"address": "other/3"}
        assert not await ask_again(detector, 3, **there)  # one pair shows nothing
        excluded = rule_of(detector, "changing").exclude
        assert not excluded(page(3, **there).known).paths
        assert await ask_again(detector, 1)
        assert excluded(page(3, **there).known).paths == excluded(page(1).known).paths != set()
        assert not excluded(page(4, address="third/4").known).paths


async def test_a_detector_goes_on_where_another_was_closed():
    async with store_for(PARAMETERS) as store:
        first = make(store)
        for number in range(40):
            await first.decide(page(number, advert=number))
            if number in DUE:
                await ask_again(first, number)
            if number > max(DUE):
                assert (await first.decide(again(number))).is_duplicate
        await first.close()
        second = make(store)
        await second.decide(page(40))
        await first.decide(page(41))  # the 41st page of its site, too
        assert pages_of(second) == pages_of(first) == 41
        for name in ("changing", "boilerplate", "titles"):
            found = [rule_of(each, name).exclude(page(1).known) for each in (first, second)]
            one, other = (
                each._replace(shared=[part.shingles.tolist() for part in each.shared])
                for each in found
            )
            assert one == other
        dumps = [rule_of(each, "changing").dump(complete=True) for each in (first, second)]
        assert dumps[0] == dumps[1]
        assert rule_of(second, "changing").exclude(page(1).known).paths
        assert site_of(second).member == site_of(first).member
        # What was left is taken up once: a run that is killed leaves nothing.
        third = make(store)
        await third.decide(page(42))
        assert pages_of(third) == 1


@pytest.mark.parametrize(
    "left",
    [b"", b"garbage", zlib.compress(b"[]"), zlib.compress(b'{"member": "x"}'),
     zlib.compress(b'{"member": "x", "taught": [1], "boilerplate": {}}')],
)  # fmt: skip
async def test_what_cannot_be_read_is_passed_over(left):
    async with store_for(PARAMETERS) as store:
        for topic in ("//a.example", "//a.example of test", "a.example", "a.example of test"):
            await store.exchange(topic, "someone", left)
        skipped = []
        detector = make(store, on_skipped=lambda *said: skipped.append(said))
        assert (await detector.decide(page(1))).decision == "new"
        assert pages_of(detector) == 1
        is_whole = left in {b"", zlib.compress(b'{"member": "x"}')}
        assert skipped == ([] if is_whole else [("//a.example", 1)])


@pytest.mark.parametrize("member", [None, 7, ["x"], "x" * 1000])
def test_what_names_no_crawl_is_not_restored(member):
    parts = json.loads(zlib.decompress(Site("x").dump(complete=True)))
    dumped = zlib.compress(json.dumps(parts | {"member": member}).encode())
    site = Site("ours")
    assert not site.restore(dumped)
    assert site.member == "ours"
    assert site.restore(zlib.compress(json.dumps(parts).encode()))


def test_what_is_left_is_bounded_and_holds_the_folders_used_last(monkeypatch):
    def learn(site, folder):
        shingles = np.arange(folder, folder + 1000, dtype=np.uint64)
        text = Text(shingles, np.zeros(1000, np.uint8), shingles, np.zeros(1000, np.uint8))
        site.learn((1, folder), Evidence(host=1, folder=folder), text)

    def folders(site):
        return [folder for folder, _ in site.rules[0].dump(complete=True) if folder != 1]

    site = Site("me")
    for folder in range(10, 30):
        learn(site, folder)
    assert folders(site) == list(range(10, 30))
    monkeypatch.setattr(knowledge, "MAX_STATE", 200_000)
    state, whole = site.dump(complete=True), Site("me")
    assert whole.restore(state)
    assert whole.is_due(7)
    left = folders(whole)
    assert left == list(range(10, 30))[-len(left) :]
    assert 5 <= len(left) < 20
    assert len(zlib.decompress(state)) < 320_000


async def test_what_was_learnt_is_said_where_it_counts():
    async with store_for(PARAMETERS) as store:
        told = []
        detector, learnt = make(store, on_learnt=lambda *said: told.append(said[:2])), []
        for number in range(12):
            await detector.decide(page(number, advert=number, length=25))
            verdict = await detector.decide(again(number, length=25))
            if number in DUE:
                await ask_again(detector, number, length=25)
            if verdict.is_duplicate:
                learnt.append(verdict.match.decided.learnt)
        assert len(learnt) == 12 - DUE[1] - 1  # until then it isn't found
        assert all("changing" in each for each in (learnt[0], learnt[-1]))
        assert told.count(("//a.example", "changing")) == 1


async def test_what_changes_does_not_count_beside_the_canonical_page_either():
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        for number in range(12):
            await detector.decide(page(number, advert=number, length=25))
            if number in DUE:
                await ask_again(detector, number, length=25)
        for head in ("", "<link rel=canonical href=/11>"):
            shown = page(11, advert=head, address="of/x11", length=25, head=head)
            assert (await detector.decide(shown)).is_duplicate == bool(head)


async def test_a_site_that_was_forgotten_goes_on_from_what_was_known_of_it(monkeypatch):
    monkeypatch.setattr("scrapy_neardup.judge.sites._MAX_SITES", 1)
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        for number in range(40):
            await detector.decide(page(number))
        members = {site_of(detector).member}
        detector._sites.add(1, "//another.example")
        assert site_of(detector).name == "//another.example"
        await detector.decide(page(40))
        assert pages_of(detector) == 41
        members.add(site_of(detector).member)
        assert len(members) == 1


class Waiting:
    """A store that waits for its server while a crawl goes on, before or after it compares."""

    is_private = True

    def __init__(self, store, before=None, after=None):
        self._store, self._before, self._after = store, before, after

    async def check_and_add(self, page, decide):
        if self._before:
            await self._before()
        verdict = await self._store.check_and_add(page, decide)
        if self._after:
            await self._after()
        return verdict


async def test_a_page_is_compared_by_what_is_known_when_its_candidates_arrive():
    """Else text that others have shown to be boilerplate would count as what two pages share."""
    template = f"{TITLE.format('Page')}<p>{prose('template', 200)}</p>"
    pages = [
        analysed(f"{template}<p>{prose(number, 8)}</p>", f"http://a.example/{number}")
        for number in range(MIN_PAGES + 1)
    ]
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        for each in pages[: MIN_PAGES - 1]:
            assert not (await detector.decide(each)).is_duplicate

        async def go_on():
            detector.store = store
            await detector.decide(pages[MIN_PAGES])

        detector.store = Waiting(store, before=go_on)
        verdict = await detector.decide(pages[MIN_PAGES - 1])
        assert site_of(detector).folders.pages(pages[0].known.host) == MIN_PAGES + 1
        assert verdict.nearest.decided.rule == Refusal.UNEQUAL


async def test_a_page_that_turns_out_to_be_another_while_its_verdict_is_stored_is_asked_again():
    pages = [
        analysed(f"<p>{prose('jobs')}</p><p class=city>{city}</p>", f"http://a.example/{city}")
        for city in ("Berlin", "Oslo")
    ]
    first, second = (page.known for page in pages)
    places = frozenset(each for each in first.paths if first.rows_at(each) != second.rows_at(each))
    async with store_for(PARAMETERS) as store:
        detector = make(store)
        await detector.decide(pages[0])

        async def find_records():
            site_of(detector).folders.used(first.folder).records = places
            await detector._spread(site_of(detector), [rule_of(detector, "records")])

        detector.store = Waiting(store, after=find_records)
        verdict = await detector.decide(pages[1])
        assert (verdict.is_duplicate, verdict.released) == (True, (pages[1].id,))


def test_sites_that_are_forgotten_at_once_are_not_measured(monkeypatch):
    monkeypatch.setattr("scrapy_neardup.judge.sites._MAX_SITES", 2)
    sites = Sites()
    for host in range(9):
        sites.add(host, f"//{host}.example")
    for _ in range(99):
        sites.get(host)
    assert [site.name for site in sites] == ["//8.example", "//7.example"]
    assert [site.name for site in sites.forgotten] == [f"//{each}.example" for each in range(7)]


def test_sites_used_longest_ago_are_forgotten_when_memory_is_measured(monkeypatch):
    monkeypatch.setattr("scrapy_neardup.judge.sites._HELD", 1)
    sites = Sites()
    for host in range(2):
        sites.add(host, f"//{host}.example")
    for number in range(2 * _MEASURED):
        assert len(list(sites)) == (2 if number < _MEASURED else 1)
        sites.get(0)
    assert [site.name for site in sites.forgotten] == ["//1.example"]


def test_a_site_with_much_knowledge_is_measured_seldom(monkeypatch):
    entries, shrink = [], Site.shrink

    def measured(site, most):
        entries.append(len(site.folders.own))
        shrink(site, most)

    monkeypatch.setattr(Site, "shrink", measured)
    sites, uses = Sites(), 32 * _MEASURED
    sites.add(0, "//0.example")
    for folder in range(uses):
        sites.get(0).folders.used(folder)
    assert entries[0] == _MEASURED - 1
    assert sum(entries) < 5 * uses


@pytest.mark.parametrize(("heading", "name"), [("0", "0"), ("Other", "0"), ("0", "other")])
def test_a_page_in_another_template_is_found_by_what_counts_of_it(heading, name):
    """Its boilerplate is longer than its content, and is known; or it has name and title."""
    analyser = Analyser(PARAMETERS)

    def rendered(at, folder, heading=None, name=None):
        template = prose(f"template of {folder}", 150)
        html = f"<h1>{heading or at}</h1><p>{prose(at, 40)}</p><div>{template}</div>"
        return analysed(html, f"http://a.example/{folder}/{name or at}")

    pages = rendered(0, "x"), rendered(0, "y", heading, name)
    shared = [Excluded(shared=(shown(rendered(7, each), rendered(8, each)),)) for each in "xy"]
    found = [analyser.by_what_counts(*each) for each in zip(pages, shared, strict=True)]
    common = [one == other for one, other in zip(*(each.features for each in found), strict=True)]
    assert any(common[4:7])
    assert not any(common[:4])
    assert common[7] is (heading == name == "0")
    for before, after in zip(pages, found, strict=True):
        assert (before.fingerprint, before.evidence) == (after.fingerprint, after.evidence)


def shown(one, other):
    """Return what two pages share, as a folder's boilerplate."""
    found = SharedShingles()
    found.set(np.intersect1d(one.text.shingles, other.text.shingles))
    return found


@pytest.mark.parametrize(
    "address", ["{0}", "{0}/offer", "{1}/{0}", "{1}/{2}/{0}", "x{0}/index.html"]
)
def test_pages_with_folders_of_their_own_share_the_boilerplate_of_the_folder_above(address):
    """Sixty offers under one title, in a section that isn't half of the site."""
    pages = [(f"http://a.test/news/{n}", f"<title>{n}</title>{prose(n, 80)}") for n in range(100)]
    for n in range(60):
        where = f"http://a.test/offers/{address.format(1000 + n, n % 7, n % 3)}"
        said = f"<title>Flat</title><p>{prose(f'own {n}', 12)}</p><p>{prose('shared', 400)}</p>"
        pages.insert(2 * n, (where, said))
    offers = judged(pages, Parameters())[:120:2]
    assert not any(each.is_duplicate for each in offers)


async def test_only_a_site_with_drops_since_the_last_time_asks_what_others_have_found():
    asked = []

    async def exchange(topic, *_):
        asked.append(topic)
        return []

    store = SimpleNamespace(is_private=False, exchange=exchange)
    detector, shown = Detector(Analyser(PARAMETERS), store), page(1)
    records = detector._sites.add(shown.known.host, "//a.example").records
    detector._sites.add(2, "//b.example")
    for drops, times in ((0, 0), (1, 1), (0, 1), (2, 2), (0, 2)):
        for number in range(drops):
            records.learn_drop(page(2 + number), NOTHING, shown.id, shown.known)
        assert await detector.hear() == ()
        assert asked == ["//a.example"] * times
