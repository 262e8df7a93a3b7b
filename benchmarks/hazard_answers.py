"""Kinds of answers that aren't plain pages, fragments and shells; and pages that come again."""

from __future__ import annotations

import json

from hazard_site import COUNT, Site, kind, linked_data, listed, slug
from hazard_texts import BODY, COLOURS, MONTHS


@kind()
def fragments(site: Site) -> None:
    """fragments of HTML for endless scrolling, /load?page=N"""
    for page in range(1, COUNT + 1):
        entries = [f"{name}, {site.price()} €" for name in site.things(6)]
        site.answer(f"/load?page={page}", page, listed(entries))


@kind()
def dialogs(site: Site) -> None:
    """fragments of HTML for a dialog that differ in a number"""
    text = site.sentences(BODY, 4)
    for number in site.numbers(1000, 9999):
        html = f"<div class='modal'><h2>Reserve</h2><p>Article {number}</p><p>{text}</p></div>"
        site.answer(f"/ajax/reserve/{number}", number, html)


@kind("markup")
def shells_with_state(site: Site) -> None:
    """shells of an application whose content is embedded as JSON"""
    for name in site.things():
        state = {"props": {"pageProps": {"name": name, "price": site.price()}}, "page": "/[slug]"}
        body = (
            '<div id="__next">Loading the shop, one moment please</div>'
            f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(state)}</script>'
        )
        site.add(f"/p/{slug(name)}", name, body, "Shop")


@kind("address")
def bare_shells(site: Site) -> None:
    """shells of an application that are the same at every address"""
    for name in site.things():
        body = '<div id="root"></div><noscript>You need JavaScript to run this app.</noscript>'
        site.add(f"/app/{slug(name)}", name, body, "App")


@kind("markup")
def maps(site: Site) -> None:
    """maps whose place stands in an attribute alone"""
    text = site.text(BODY, 3)
    for number in site.numbers(100_000, 999_999):
        body = f'<h1>Map</h1><div id="map" data-lat="52.{number}" data-lng="13.4"></div>{text}'
        site.add(f"/map/{number}", number, body, "Map")


@kind("markup")
def forms(site: Site) -> None:
    """forms that are filled in for the article that one comes from"""
    text = site.text(BODY, 4)
    for name in site.things():
        field = f'<form><input name="subject" value="Question about {name}"><button>Send</form>'
        site.add(
            f"/contact?product={slug(name)}", name, f"<h1>Contact</h1>{field}{text}", "Contact"
        )


@kind("markup")
def linked_data_alone(site: Site) -> None:
    """pages whose article stands in linked data alone"""
    text = site.text(BODY, 5)
    for name in site.things():
        data = linked_data(**{"@type": "Product"}, name=name, sku=len(name))
        site.add(f"/i/{slug(name)}", name, f"<h1>Article</h1>{text}", "Article", data)


@kind("markup")
def places_in_the_header(site: Site) -> None:
    """pages of branches that the page's header alone tells apart"""
    text = site.text(BODY, 6)
    for city in site.cities():
        html = f"<html><title>Contact</title><body><header>{city}</header><main>{text}</main>"
        site.answer(f"/{slug(city)}/contact", city, html)


@kind()
def json_answers(site: Site) -> None:
    """answers in JSON"""
    for number in site.numbers(1000, 9999):
        answer = {"id": number, "name": "lamp", "text": site.sentences(BODY, 3)}
        site.answer(f"/api/items/{number}", number, json.dumps(answer), "application/json")


@kind()
def json_as_html(site: Site) -> None:
    """answers in JSON that are declared as HTML"""
    text = site.sentences(BODY, 5)
    for number in site.numbers(1000, 9999):
        site.answer(f"/api/items?id={number}", number, json.dumps({"id": number, "text": text}))


@kind()
def xml_answers(site: Site) -> None:
    """answers in XML: sitemaps, feeds"""
    for page in range(1, COUNT + 1):
        places = "".join(f"<url><loc>/p/{page}-{entry}</loc></url>" for entry in range(30))
        xml = f'<?xml version="1.0"?><urlset>{places}</urlset>'
        site.answer(f"/sitemap-{page}.xml", page, xml, "application/xml")


@kind()
def pdf_files(site: Site) -> None:
    """PDF files"""
    for number in range(COUNT):
        site.answer(f"/files/{number}.pdf", number, f"%PDF-1.7\n{number} 0 obj\n",
                    "application/pdf")  # fmt: skip


@kind("markup", repeats=True)
def sessions(site: Site) -> None:
    """one page with another session in its address and links"""
    text = f"<h1>Terms</h1>{site.text(BODY, 9)}"
    for _ in range(COUNT):
        key = f"{site.chance.getrandbits(128):032x}"
        site.add(f"/terms?sid={key}", 0, f'{text}<a href="/home?sid={key}">Home</a>', "Terms")


@kind("address", repeats=True)
def campaigns(site: Site) -> None:
    """one page under addresses that name campaigns"""
    text = f"<h1>Offer</h1>{site.text(BODY, 9)}"
    for colour in COLOURS:
        site.add(f"/offer?utm_source=news&utm_campaign={colour}", 0, text, "Offer")


@kind(repeats=True)
def clocks(site: Site) -> None:
    """one page with a clock, at several addresses"""
    text = site.text(BODY, 9)
    for number in range(COUNT):
        body = f"<h1>Terms</h1>{text}<p>{number + 7:02}:{number * 4:02}:11</p>"
        site.add(f"/terms?from={number}", 0, body, "Terms")


@kind(repeats=True)
def counters(site: Site) -> None:
    """one page with a counter of visitors, at several addresses"""
    text = site.text(BODY, 9)
    for number in site.numbers(10_000, 99_999):
        body = f"<h1>Terms</h1>{text}<p>You are visitor no. {number}.</p>"
        site.add(f"/terms?ref={number}", 0, body, "Terms")


@kind("markup", repeats=True)
def tokens(site: Site) -> None:
    """one page with another hidden token and nonce in each response"""
    text = f"<h1>Terms</h1>{site.text(BODY, 9)}"
    for number in range(COUNT):
        key = f"{site.chance.getrandbits(64):016x}"
        body = f'{text}<form><input type="hidden" name="csrf" value="{key}"></form>'
        site.add(f"/terms?ref={number}", 0, body, "Terms", f'<script nonce="{key}">run()</script>')


@kind(repeats=True)
def adverts(site: Site) -> None:
    """one page with another advert in each response"""
    text = site.text(BODY, 12)
    for number, thing in enumerate(site.things()):
        advert = f'<div class="ad">Buy a {thing} now, for {number + 9} only</div>'
        site.add(f"/terms?ref={number}", 0, f"<h1>Terms</h1>{advert}{text}", "Terms")


@kind("markup", repeats=True)
def logins(site: Site) -> None:
    """a login form that stands before every page, with where to go in the query"""
    text = f"<p>Please sign in to go on.</p><p>{site.sentences(BODY, 3)}</p>"
    for name in site.things():
        field = f'<form><input type="hidden" name="next" value="/p/{slug(name)}"></form>'
        site.add(f"/login?next=/p/{slug(name)}", 0, f"<h1>Sign in</h1>{text}{field}", "Sign in")


@kind("address", repeats=True)
def cookie_walls(site: Site) -> None:
    """a wall that asks about cookies at every address"""
    text = f"<h1>Before you go on</h1><p>{site.sentences(BODY, 6)}</p><button>Accept all</button>"
    for name in site.things():
        site.add(f"/{slug(name)}", 0, text, "Before you go on")


@kind(repeats=True)
def missing_pages(site: Site) -> None:
    """'not found' with status 200 at every address, which it repeats"""
    text = site.text(BODY, 4)
    for name in site.things():
        body = f"<h1>Not found</h1><p>There is no page /old/{slug(name)} here.</p>{text}"
        site.add(f"/old/{slug(name)}", 0, body, "Not found")


@kind(repeats=True)
def nothing_found(site: Site) -> None:
    """searches that find nothing, and name the word that was asked for"""
    text = site.text(BODY, 5)
    for name in site.things():
        body = f"<h1>Search</h1><p>Nothing was found for '{slug(name)}'.</p>{text}"
        site.add(f"/search?q={slug(name)}", 0, body, "Search")


@kind(repeats=True)
def empty_months(site: Site) -> None:
    """months of a calendar without appointments"""
    days = "".join(f"<td>{day}</td>" for day in range(1, 29))
    for year in range(2030, 2034):
        for number, month in enumerate(MONTHS, 1):
            body = f"<h1>{month} {year}</h1><table><tr>{days}</tr></table><p>No events.</p>"
            site.add(f"/calendar/{year}/{number:02}", 0, body, "Calendar")


@kind(repeats=True)
def sort_orders(site: Site) -> None:
    """one list of articles in another order"""
    entries = [f"{name}: {site.sentences(BODY, 1)}" for name in site.things()]
    for number in range(COUNT):
        body = f"<h1>All articles</h1>{listed(site.shuffled(entries))}"
        site.add(f"/all?sort={number}", 0, body, "All articles")


@kind(repeats=True)
def prints(site: Site) -> None:
    """articles and their printable versions"""
    for name in site.things():
        body = f"<h1>{name}</h1><p>{site.sentences(BODY, 9)}</p>"
        site.add(f"/article/{slug(name)}", name, body, name)
        html = f"<html><title>{name} (print)</title><body>{body}<p>Printed from our site"
        site.answer(f"/article/{slug(name)}?print=1", name, html)
