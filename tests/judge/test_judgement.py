"""What the judgement must not do, as sites on which it once did: each a small crawl."""

import random
from dataclasses import replace
from itertools import islice, product

import pytest
from judging import analysed, judged, prose, store_for

from scrapy_neardup.crawl.experiments.refetch import Due
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import LEARNABLE, PRESETS
from scrapy_neardup.text import Block, Blocks, Content, Form
from scrapy_neardup.verdict import Decision

of_text = Content.of_text

BEST = Parameters(**PRESETS["best"])
CONFIRMING = [Parameters(**PRESETS[name]) for name in ("best", "compact")]
PAPER = Parameters(**PRESETS["paper"])
presets = pytest.mark.parametrize("parameters", CONFIRMING, ids=["best", "compact"])


def at(pages):
    """Give each page, of a path and HTML or contents, the address of a host."""
    return [(f"http://a.example/{path}", *shown) for path, *shown in pages]


def crawl(pages, parameters=BEST):
    """Judge (path, HTML or content) in this order; return a verdict for each.

    Another response to the same request may follow; see `judging.judge`.
    """
    return judged(at(pages), parameters)


def kept(verdicts):
    return [not verdict.is_duplicate for verdict in verdicts]


# 1. Unique pages lost for what was learnt


def timed(number):
    """A page that ends in the time that it took, twice under two addresses."""
    name, text = f"Article {number}", prose(number, 80)
    shown = (
        f"<title>{name}</title><h1>{name}</h1><p>{text}</p><p>Page generated in {{:.4f}} seconds"
    )
    for query in ("", "?sort=asc"):
        seconds = random.Random(f"{number}{query}")
        page, again = (shown.format(seconds.random()) for _ in range(2))
        yield f"articles/{number}{query}", page, again


def sections(count):
    """Pages whose last paragraph is their content, of three kinds."""
    intro = prose("intro", 60)
    common = prose("common", 60)
    for n in range(count):
        own, after, story = prose(f"own {n}", 150), prose(f"intro {n}", 70 + n), prose(n, 2)
        yield f"a/{n}", f"<title>Section</title><h1>Section</h1><p>{own}</p>"
        yield f"b/{n}", f"<title>Guide</title><p>{intro}</p><p>{after}</p>"
        titled = prose(f"titled {n}", 80)
        yield f"c/{n}", f"<title>Story {story}</title><p>{common}</p><p>{titled}</p>"


@presets
@pytest.mark.parametrize("address", ["{}/entry", "entry?id={}"])
def test_a_template_that_three_of_the_first_pages_lack_is_found_out(parameters, address):
    template = prose("template", 500)
    others = [(f"about{n}/", f"<title>About</title>{prose(f'about {n}', 90)}") for n in range(3)]
    entries = [
        (address.format(n), f"<title>Entry</title><p>{template}</p>{prose(f'entry {n}', 15)}")
        for n in range(60)
    ]
    assert sum(kept(crawl([*others, *entries], parameters))) > 50


@presets
@pytest.mark.parametrize(("hosts", "titles", "equal", "alike"), [
    ("aa", ("One", "One"), True, False), ("ab", ("One", "One"), True, True),
    ("aa", ("One", "Two"), False, False), ("ab", ("One", "Two"), False, False),
    ("aa", ("One", ""), True, False), ("ab", ("One", ""), True, False),
    ("aa", ("", ""), True, True), ("ab", ("", ""), True, True),
])  # fmt: skip
def test_while_little_is_known_titles_and_hosts_say_what_is_dropped(
    parameters, hosts, titles, equal, alike
):
    text = prose("text", 400).split()
    changed = [*text[:100], "changed", *text[101:300], "changed", *text[301:]]
    for is_dropped, other in (equal, text), (alike, changed):
        pages = [
            (f"http://{host}.example/x/{n}", f"<title>{title}</title><p>{' '.join(shown)}</p>")
            for n, (host, title, shown) in enumerate(
                zip(hosts, titles, (text, other), strict=True)
            )
        ]
        assert judged(pages, parameters)[1].is_duplicate == is_dropped


@presets
def test_numbers_tell_titles_apart_where_addresses_do(parameters):
    about = [(f"about/{n}", f"<title>About {n}x</title>{prose(n, 90)}") for n in range(8)]
    html = f"<title>Soft {{0}} mg</title><p>{{0}} mg</p><p>{prose('leaflet', 300)} {{0}} mg</p>"
    leaflets = [(f"{mg}-mg", html.format(mg)) for mg in (1, 5, 10)]
    assert kept(crawl([*about, *leaflets], parameters))[8:] == [True] * 3


@presets
def test_a_key_that_page_and_address_share_tells_pages_apart(parameters):
    others = [(f"other?no={n}", f"<title>Part</title>{prose(n, 90)}") for n in range(8)]
    html = f"<title>Part</title><p>No. {{}}</p><p>{prose('bolt', 300)}</p>"
    keys = "847-12345", "847-12399", "911-55555"
    parts = [(f"part?no={key}", html.format(key)) for key in keys]
    copies = [(f"{path}&utm_source={n}", page) for n, (path, page) in enumerate(parts)]
    assert kept(crawl([*others, *parts, *copies], parameters)[8:]) == [True] * 3 + [False] * 3


@presets
def test_replies_to_one_post_do_not_make_it_boilerplate(parameters):
    post = f"<title>Post</title><p>{prose('post', 300)}</p>"
    replies = [(f"post/?reply={n}", f"{post}<p>Reply to {prose(n, 3)}</p>") for n in range(40)]
    assert sum(kept(crawl([("post/", post), *replies], parameters))) == 1


@presets
@pytest.mark.parametrize("timed_first", [True, False])
def test_content_that_ends_a_page_is_not_taken_for_what_changes(parameters, timed_first):
    ends, unique = [page for n in range(15) for page in timed(n)], list(sections(15))
    pages = [*ends, *unique] if timed_first else [*unique, *ends]
    found = dict(zip((path for path, *_ in pages), kept(crawl(pages, parameters)), strict=True))
    assert all(found[path] for path, _ in unique)
    assert sum(found[path] for path, *_ in ends) == 15


# 3. What was learnt is in nothing that is stored


def site():
    """A crawl that teaches all that is learnt: boilerplate, DOM paths that change, titles."""
    menu = prose("menu", 100)

    def article(number, advert=None):
        shown = f"<div class=x>{prose(advert, 25)}</div>" if advert else ""
        title, (one, other) = prose(number, 2), (prose(n, 90) for n in (number, -number))
        return f"<title>The site: {title}</title><p>{menu}</p><p>{one}</p>{shown}<p>{other}</p>"

    for number, visit in product(range(12), range(3)):
        adverts = f"{number} {visit}", f"{number} {visit} again"
        yield f"en/{number}?sid=a{visit}", *(article(number, each) for each in adverts)
    for number in range(12):
        yield f"de/{number}", article(number)


async def test_what_is_learnt_is_in_no_evidence():
    async with store_for(BEST) as store:
        detector = Detector(Analyser(BEST), store)
        before = analysed(detector.analyser, at(site()))
        again = analysed(detector.analyser, at([(path, shown[-1]) for path, *shown in site()]))
        due = Due()
        for page, second in zip(before, again, strict=True):
            await detector.decide(page)
            if due.includes(page):
                await detector.learn_response(page, second)
        [site_met] = detector._sites
        excluded = [(rule, rule.exclude(page.known)) for page in before for rule in site_met.rules]
        after = analysed(detector.analyser, at(site()))
    assert {rule.name for rule, found in excluded if any(found)} == {*LEARNABLE} - {"records"}
    assert [page.evidence for page in before] == [page.evidence for page in after]
    assert before == after


def test_a_copy_of_one_of_the_first_pages_is_found_whenever_it_comes():
    """That a place changes was not known when the first ones were stored."""
    pages = list(site())[:36]
    later = (first.replace("</div>", " later</div>") for _, first, _ in pages[::3])
    late = [(f"en/{n}?sid=a9", page) for n, page in enumerate(later)]
    assert not any(kept(crawl([*pages, *late])[36:]))


# 5. What changes within a page does not hide it

CHANGING = {
    "advert, named": lambda seed: f"<div class='ad advertisement'>{prose(seed, 25)}</div>",
    "advert, ins": lambda seed: f"<ins class=adsbygoogle>{prose(seed, 25)}</ins>",
    "advert, plain": lambda seed: f"<div>{prose(seed, 25)}</div>",
    "related, named": lambda seed: f"<div class=related><ul>{links(seed)}</ul></div>",
    "related, plain": lambda seed: f"<ul>{links(seed)}</ul>",
    "time": lambda seed: f"<p>Now <time>{prose(seed, 3)}</time></p>",
    "seconds": lambda seed: f"<p>generated in {random.Random(seed).random():.2f} s</p>",
}


def links(seed):
    return "".join(f"<li><a href=x>{prose(f'{seed} {n}', 3)}</a>" for n in range(8))


def check_repetitions(page):
    """None of 20 pages, met three times each, is lost; a fifth of the repetitions may be kept."""
    met = product(range(20), range(3))
    pages = ((f"{n}?sid=a{visit}", page(n, visit), page(n, visit + 3)) for n, visit in met)
    found = kept(crawl(pages))
    assert all(any(found[3 * number : 3 * number + 3]) for number in range(20))
    assert sum(found) <= 20 + 0.2 * 40


@pytest.mark.parametrize(
    ("name", "count"), [*((name, 200) for name in CHANGING), ("time", 60), ("seconds", 60)]
)
def test_repetitions_are_found_though_something_in_the_middle_changes(name, count):
    def page(number, visit):
        head = f"<title>{prose(number, 3)}</title><h1>{prose(number, 2)}</h1>"
        before, after = (f"<p>{prose(n, count // 2)}</p>" for n in (number, -number))
        return f"{head}{before}{CHANGING[name](f'{number} {visit}')}{after}"

    check_repetitions(page)


def test_a_box_that_changes_is_found_among_labels_at_dom_paths_of_their_own():
    def page(number, visit):
        labels = "".join(
            f"{'<div>' * n}<p>{prose(f'{number} {n}', 1 + n % 2)}</p>{'</div>' * n}"
            for n in range(20)
        )
        box = f"<dl><dt>{prose(f'{number} {visit}', 25)}</dl>"
        return f"<title>{prose(number, 3)}</title>{labels}{box}<p>{prose(number, 200)}</p>"

    check_repetitions(page)


def test_a_page_that_says_less_than_its_navigation_has_places_that_change_too():
    menu = "".join(f"<li><a href=x>{prose(f'menu {n}', 2)}</a>" for n in range(25))

    def page(number, visit):
        head = f"<title>{prose(number, 3)}</title><div class=navbar><ul>{menu}</ul></div>"
        return f"{head}<p>{prose(number, 20)}</p><div>{prose(f'{number} {visit}', 14)}</div>"

    check_repetitions(page)


# 6. Short pages whose titles differ in a number; half-translated pages


@presets
@pytest.mark.parametrize("count", [12, 25, 60])
def test_a_number_in_a_title_makes_no_other_page(parameters, count):
    html = "<title>{0} — LLVM {1} docs</title><h1>{0}</h1><p>{2}</p>"
    pages = [
        (f"llvm/{version}/{n}.html", html.format(prose(n, 1), version, prose(n, count)))
        for version, n in product((15, 16), range(12))
    ]
    found = kept(crawl(pages, parameters))
    assert all(found[:12])
    assert sum(found[12:]) <= 4  # until the site's own words and editions are known


@presets
def test_short_pages_of_other_names_are_kept(parameters):
    pages = [(str(n), f"<title>{prose(n, 2)}</title><p>{prose(0, 20)}</p>") for n in range(20)]
    assert all(kept(crawl(pages, parameters)))


def test_navigation_in_another_language_hides_nothing():
    def manual(language, number):
        nav = "".join(f"<a href=x>{prose(f'{language} {n}', 2)}</a> " for n in range(100))
        title, text = f"<title>{prose(number, 2)}</title>", f"<p>{prose(number, 150)}</p>"
        html = f"{title}<div class=docnav>{nav}</div>{text}<ul><li>{nav}</ul>"
        return f"{language}/{number}.html", html

    found = kept(crawl([manual(language, n) for language in ("en", "de") for n in range(20)]))
    assert all(found[:20])
    assert sum(found[20:]) <= 10  # the first ones show that the folders are editions


def test_links_that_no_other_page_has_are_content():
    def manual(version, number):
        chance, name = random.Random(f"{version} {number}"), prose(number, 2)
        drawn = chance.sample(range(1000 * number, 1000 * number + 200), 200)
        menu = "".join(f"<li><a href=x>{prose(f'{version} {n}', 5)}</a>" for n in drawn)
        text = f"<h1>{name}</h1><p>{prose(number, 60)}</p>"
        return f"{version}/{number}.html", f"<title>{name}</title><ul>{menu}</ul>{text}"

    assert all(kept(crawl([manual(version, n) for version in ("1", "2") for n in range(16)])))


# 7. Short pages


def test_one_page_fetched_again_and_again_is_learnt_from():
    """Two lines at its end change: who is online, and a saying."""

    def chat(visit):
        online = f"<p>Guests online: {visit}</p><div>{prose(visit, 9)}</div>"
        return f"<title>Chat</title><p>{prose(0, 60)}</p>{online}"

    pages = [(f"chat?sid=a{visit}", chat(visit), chat(visit + 30)) for visit in range(30)]
    found = kept(crawl(pages))
    assert sum(found) <= 5
    assert not any(found[5:])


# 8. `paper` is the paper


def changed_pairs():
    for number in range(60):
        text = prose(number, 400).split()
        other = text.copy()
        other[200] = "another"
        yield " ".join(text), " ".join(other)


@pytest.mark.parametrize("max_distance", [3, 8])
@pytest.mark.parametrize("titles", ["learn", "strict", "ignore"])
def test_simhash_alone_decides(titles, max_distance):
    """Whatever the titles: 60 pairs with one word changed."""
    parameters = replace(PAPER, titles=titles, max_distance=max_distance)
    dropped = 0
    for number, pair in enumerate(changed_pairs()):
        pages = [(f"{number}/{n}", of_text(text, f"Title {n}")) for n, text in enumerate(pair)]
        ours, theirs = crawl(pages, parameters)
        is_near = (ours.fingerprint ^ theirs.fingerprint).bit_count() <= max_distance
        assert theirs.is_duplicate is is_near
        dropped += is_near
    assert dropped >= 40


@pytest.mark.parametrize("other", [{"images": ("/1.png",)}, {"data": ("1",)}])
def test_simhash_alone_sees_no_media(other):
    text = prose(1, 100)
    pages = [("a", of_text(text)), ("b", of_text(text, **other))]
    assert kept(crawl(pages, PAPER)) == [True, False]


def test_forms_and_places_do_not_reach_it():
    text = prose(1, 100).split()
    forms = (text[:50], Form.NAMED), (text[50:], Form.LINKS)
    cut = [Block(" ".join(part), form, path) for path, (part, form) in enumerate(forms, 2)]
    whole = [Block(" ".join(text), Form.CONTENT, 1)]
    pages = [("a", Content(Blocks.of(whole))), ("b", Content(Blocks.of(cut)))]
    assert crawl(pages, PAPER)[1].match.distance == 0


def test_it_keeps_and_learns_nothing_else():
    analyser = Analyser(PAPER)
    page = analyser.page(of_text(prose(1, 100), "A title"), page_id=1, url="http://a.example/")
    assert (page.evidence, page.features) == (b"", ())
    again = crawl([*((str(n), of_text(prose(n, 100))) for n in range(9))], PAPER)
    assert {verdict.decision for verdict in again} == {Decision.NEW}


# Titles on demand


def test_titles_may_be_ignored():
    """Also on the first pages of a site."""
    pairs = [
        (f"{number}/{n}", of_text(text, prose(f"{number} {n}", 3)))
        for number, pair in enumerate(islice(changed_pairs(), 20))
        for n, text in enumerate(pair)
    ]
    found = kept(crawl(pairs, replace(BEST, titles="ignore")))
    assert found[::2] == [True] * 20
    assert sum(found[1::2]) <= 1
