"""Kinds of pages that forums, galleries, wikis, manuals and video sites serve."""

from __future__ import annotations

from hazard_site import COUNT, Site, kind, listed, slug, table
from hazard_texts import BODY, COLOURS, COUNTRIES, DISHES, JOB, MONTHS, SAYINGS, WELCOMES


@kind()
def profiles(site: Site) -> None:
    """profiles of members who never wrote anything: a name and the day of joining"""
    for name, (_, day) in zip(site.people(), site.dates(), strict=True):
        user = f"{name.split()[0].lower()}{len(name)}"
        body = f"<h1>{user}</h1><p>Joined {day}.</p><p>{user} hasn't posted anything yet.</p>"
        site.add(f"/u/{user}", name, body, f"Profile - {user}")


@kind()
def profiles_of_one_title(site: Site) -> None:
    """profiles under one title that differ in the name of the member"""
    for name in site.people():
        body = f"<h1>Member profile</h1><p>{name}</p><p>Posts: 0, likes: 0, badges: none</p>"
        site.add(f"/memberlist.php?mode=viewprofile&u={len(name) * 31}{name[0]}", name, body,
                 "Member profile")  # fmt: skip


@kind()
def posts(site: Site) -> None:
    """posts of one thread on pages of their own, all of which show the first post"""
    first = site.text(BODY, 6)
    for number, text in enumerate(site.shuffled(JOB)[:COUNT], 2):
        body = f"<h1>Which one to buy?</h1>{first}<div><b>Reply {number}</b><p>{text}</p></div>"
        site.add(f"/t/which-one-to-buy/812/{number}", number, body, "Which one to buy?")


@kind()
def short_replies(site: Site) -> None:
    """threads that end in an answer of two words"""
    names, words = site.people(), site.shuffled(COLOURS)
    text = site.text(BODY, 6)
    for number, (name, word) in enumerate(zip(names, words, strict=True), 300):
        body = f"<h1>What colour?</h1>{text}<p>{name}: {word}, please</p>"
        site.add(f"/viewtopic.php?t={number}", number, body, "View topic: What colour?")


@kind("markup")
def photos(site: Site) -> None:
    """photos of an album without captions"""
    for number in site.numbers(1000, 9999):
        body = f'<h1>Holidays</h1><img src="/albums/9/IMG_{number}.jpg"><p>Previous | Next</p>'
        site.add(f"/albums/9/IMG_{number}", number, body, "Holidays")


@kind()
def numbered_photos(site: Site) -> None:
    """photos of an album with 'N of 14' as their caption"""
    text = site.text(BODY, 3)
    for number in range(1, COUNT + 1):
        body = f'<h1>Album</h1><img src="/a/{number}.jpg"><p>Photo {number} of {COUNT}</p>{text}'
        site.add(f"/gallery/summer?pic={number}", number, body, "Summer")


@kind()
def captions(site: Site) -> None:
    """photos with captions of three words"""
    for number, thing in enumerate(site.things()):
        body = f'<h1>Photos</h1><img src="/p/{number}.jpg"><p>The {thing}</p>'
        site.add(f"/photos/{number}", number, body, "Photos")


@kind()
def member_lists(site: Site) -> None:
    """pages of a list of members, ?page=N"""
    for page in range(1, COUNT + 1):
        body = f"<h1>Members</h1>{listed(site.people(9))}"
        site.add(f"/members?page={page}", page, body, "Members")


@kind()
def stubs(site: Site) -> None:
    """stubs of a wiki that differ in one or two names"""
    regions = [country for _, country, _ in COUNTRIES]
    for city, region in zip(site.cities(), site.shuffled(regions), strict=True):
        text = f"{city} is a village in {region}. This article about a village is a stub."
        body = f"<h1>{city}</h1><p>{text} You can help by expanding it.</p>"
        site.add(f"/wiki/{city}", city, body, f"{city} - Wiki")


@kind()
def revisions(site: Site) -> None:
    """revisions of an article, ?oldid=N, that differ in a word"""
    text = site.text(BODY, 9)
    for number, thing in enumerate(site.things(), 88_001):
        body = f"<h1>Furniture</h1>{text}<p>Its best-known kind is the {thing}.</p>"
        site.add(f"/w/index.php?title=Furniture&oldid={number}", number, body, "Furniture - Wiki")


@kind()
def dictionary(site: Site) -> None:
    """entries of a dictionary: a word and a translation"""
    text = site.text(BODY, 4)
    for thing, colour in zip(site.things(), site.shuffled(COLOURS), strict=True):
        word = f"{thing.split()[1]}{colour}"
        body = f"<h1>Dictionary</h1><p>{word}: a {colour} {thing}</p>{text}"
        site.add(f"/dictionary/{word}", word, body, "Dictionary")


@kind()
def sayings(site: Site) -> None:
    """sayings, each on a page of its own under one title"""
    text = site.text(BODY, 6)
    for number, saying in enumerate(site.shuffled(SAYINGS)):
        body = f"<h1>Saying of the day</h1><blockquote>{saying}</blockquote>{text}"
        site.add(f"/sayings/{number}", number, body, "Saying of the day")


@kind()
def episodes(site: Site) -> None:
    """episodes of a podcast that differ in number and file"""
    text = site.text(BODY, 5)
    for number in range(1, COUNT + 1):
        body = f'<h1>Episode {number}</h1><audio src="/audio/{number}.mp3"></audio>{text}'
        site.add(f"/podcast/{number}", number, body, f"Episode {number}")


@kind("markup")
def videos(site: Site) -> None:
    """videos in a frame under one title and description"""
    text = site.text(BODY, 5)
    for number in site.numbers(100_000, 999_999):
        frame = f'<iframe src="https://player.example/video/{number}"></iframe>'
        site.add(f"/watch?v={number:x}", number, f"<h1>Video</h1>{frame}{text}", "Video")


@kind()
def releases(site: Site) -> None:
    """release notes that differ in the version"""
    text = site.text(BODY, 3)
    for number in range(COUNT):
        name = f"v2.{number}.0"
        body = f"<h1>Release {name}</h1><p>Bug fixes and small improvements.</p>{text}"
        site.add(f"/releases/{name}", name, body, f"Release {name}")


@kind()
def accessors(site: Site) -> None:
    """pages of methods that differ in the name of a property"""
    for thing in site.things():
        name = thing.title().replace(" ", "")
        text = f"Returns the {thing} of this object, or null if it has none. Since version 1.2."
        body = f"<h1>get{name}()</h1><p>{text}</p>" + table(("Type", name), ("Throws", "nothing"))
        site.add(f"/api/Shop.get{name}.html", name, body, f"get{name}() | Shop API")


@kind()
def paragraphs_of_law(site: Site) -> None:
    """paragraphs of a law that say one short sentence each"""
    for number, sentence in enumerate(site.shuffled(JOB)[:COUNT], 1):
        body = f"<h1>Act on work</h1><h2>§ {number}</h2><p>{sentence}</p>"
        site.add(f"/law/work/{number}", number, body, "Act on work")


@kind()
def translations(site: Site) -> None:
    """a page with its few words in one language after the other"""
    for number, text in enumerate(WELCOMES):
        body = f"<h1>Ferrolux</h1><p>{text}</p><p>Tel. 0800 123 456, info@ferrolux</p>"
        site.add(f"/{text[:2].lower()}{number}/", text, body, "Ferrolux")


@kind()
def days_of_a_calendar(site: Site) -> None:
    """days of a calendar, each with one short appointment"""
    for (day, said), dish in zip(site.dates(), site.shuffled(DISHES)[:COUNT], strict=True):
        body = f"<h1>{said}</h1><p>12:00 Lunch: {dish}</p>"
        site.add(f"/calendar?day={day}", day, body, "Calendar")


@kind()
def months_of_a_calendar(site: Site) -> None:
    """months of a calendar with one appointment each"""
    days = "".join(f"<td>{day}</td>" for day in range(1, 29))
    for month, name in zip(MONTHS, site.people(12), strict=True):
        body = f"<h1>{month} 2026</h1><table><tr>{days}</tr></table><p>14: talk by {name}</p>"
        site.add(f"/calendar/2026/{MONTHS.index(month) + 1:02}", month, body, "Calendar")


@kind()
def searches(site: Site) -> None:
    """results of searches, ?q=WORD"""
    for thing in site.things():
        entries = [f"{name}: {site.sentences(BODY, 1)}" for name in site.things(5)]
        body = f"<h1>Search results</h1><p>You searched for {thing}.</p>{listed(entries)}"
        site.add(f"/search?q={slug(thing)}", thing, body, "Search")


@kind()
def downloads(site: Site) -> None:
    """pages of files that differ in the name and the size of the file"""
    text = site.text(BODY, 5)
    for thing, size in zip(site.things(), site.numbers(20, 900), strict=True):
        body = f"<h1>Download</h1><p>{slug(thing)}.pdf, {size} kB</p>{text}"
        site.add(f"/download/{size}", thing, body, "Download")
