"""Links that stand on pages whose texts are known."""

from itertools import product

from kinds.site import HOST, NEVER, UNLESS_SKIPPING, kind


@kind()
def manual_in_versions(site):
    """A manual in three versions whose start pages have equal texts; each links to the chapters of
    its own version, whose texts differ."""
    chapters = site.some(45, 30)
    for version in ("2.1", "2.2", "2.3"):
        names = [
            site.words(f"chapter {number}", 1).lower() + str(number) for number in range(chapters)
        ]
        urls = [f"/{version}/{name}.html" for name in names]
        text = site.prose("start") + "".join(
            f'<p><a href="{url}">{name.title()}</a></p>'
            for name, url in zip(names[:12], urls[:12], strict=True)
        )
        site.page(f"/{version}/", "start", text=text, title="Manual")
        for number, url in enumerate(urls):
            title = site.words(f"title {number}", 3)
            further = [
                urls[k] for k in (number + 1, 2 * number + 12, 2 * number + 13) if k < chapters
            ]
            site.page(url, url, title=title, links=[f"/{version}/", *further])
    site.index("/", [f"/{version}/" for version in ("2.1", "2.2", "2.3")])


@kind(is_audited=True)
def code_browser(site):
    """A code browser: files and folders by branch (`?h=next`), of which most are equal and some
    are in `next` alone; commits (`/commit`, and `/c`, which links to nothing) with links to
    `/diff`."""
    count = site.some(60, 24)
    files = [f"src/{site.words(f'file {n}', 1).lower()}{n}.c" for n in range(count)]
    added = [f"src/new{n}.c" for n in range(6)]
    for branch, held in (("", files), ("?h=next", [*files, *added])):
        listed = "".join(f'<li><a href="/p/blob/{name}{branch}">{name}</a></li>' for name in files)
        more = [f"/p/blob/{name}{branch}" for name in held[len(files) :]]
        site.page(
            f"/p/tree/{branch}",
            "tree",
            text=f"{site.prose('tree', 40)}<ul>{listed}</ul>",
            title="Files",
            links=more,
        )
        for number, name in enumerate(held):
            content = name if number % 10 or not branch else f"{name} next"
            site.page(
                f"/p/blob/{name}{branch}", content, title=name, links=[f"/p/log/{name}{branch}"]
            )
            site.page(f"/p/log/{name}{branch}", f"log {content}", title=f"Log of {name}")
    commits = [f"{site.chance.getrandbits(160):040x}" for _ in range(site.some(40, 20))]
    for commit in commits:
        said = site.prose(f"commit {commit}", 30)
        site.page(
            f"/p/commit?id={commit}",
            f"commit {commit}",
            text=said + site.prose("signed off", 25),
            links=[f"/p/diff?id={commit}"],
        )
        site.page(f"/p/diff?id={commit}", f"diff {commit}")
        site.pages[f"{HOST}/p/c?id={commit}"] = site.page(
            "", f"commit {commit}", text=said + site.prose("signed off", 25), add=False
        )
    log = "".join(
        f'<li><a href="/p/commit?id={c}">{c[:8]}</a> <a href="/p/c?id={c}">raw</a></li>'
        for c in commits
    )
    site.page("/p/log", "log", text=f"<ul>{log}</ul>", title="Log")
    site.index("/", ["/p/tree/", "/p/tree/?h=next", "/p/log"])


@kind()
def known_texts_other_links(site):
    """An archive whose months all show one text, and link in their navigation to the articles of
    that month."""
    months = [f"/archive/{2010 + n // 12}/{n % 12 + 1:02}/" for n in range(site.some(60, 30))]
    for number, month in enumerate(months):
        urls = [f"/article/{number}-{n}" for n in range(4)]
        site.page(month, "archive", title="Archive", links=urls)
        for url in urls:
            site.page(url, url)
    site.index("/", months)


@kind()
def one_in_many_leads_on(site):
    """Tags that show one text and link to known articles; one in twenty links to an article that
    stands nowhere else."""
    known = [f"/article/{number}" for number in range(40)]
    for url in known:
        site.page(url, url)
    tags = [f"/tag/{number}/" for number in range(site.some(300, 120))]
    for number, tag in enumerate(tags):
        links = site.chance.sample(known, 3)
        if number % 20 == 13:
            links.append(f"/rare/{number}")
            site.page(links[-1], links[-1])
        site.page(tag, "tag", title="Tag", links=links)
    site.index("/", [*site.indexes(known), *site.indexes(tags, name="tags")])


@kind()
def chain_of_lists(site):
    """A list of new articles in parts that link to the next one (`?page=`); all parts show the
    same teasers, and the articles stand in the navigation."""
    parts = site.some(40, 25)
    for part in range(parts):
        urls = [f"/article/{part}-{n}" for n in range(4)]
        more = [f"/new?page={part + 1}"] if part + 1 < parts else []
        site.page(f"/new?page={part}", "new", title="New", links=[*urls, *more])
        for url in urls:
            site.page(url, url)
    site.index("/", ["/new?page=0"])


@kind()
def calendar_of_links(site):
    """Days of a programme that show nothing of their own but links to that day's shows; ten shows
    in a hundred are on one day only."""
    shows = [f"/show/{number}" for number in range(site.some(60, 30))]
    for url in shows:
        site.page(url, url)
    days = [f"/day/{number}" for number in range(site.some(100, 60))]
    for number, day in enumerate(days):
        links = site.chance.sample(shows[: len(shows) // 2], 5)
        if number % 10 == 7:
            links.append(f"/special/{number}")
            site.page(links[-1], links[-1])
        site.page(day, "day", title="Programme", links=links)
    site.index("/", [*site.indexes(days, name="days"), *site.indexes(shows[: len(shows) // 2])])
    for number, url in enumerate(shows[len(shows) // 2 :]):
        where = site.start if number == 0 else f"{HOST}{shows[number - 1]}"
        site.pages[where] = site.pages[where]._replace(links=(*site.pages[where].links, url))


@kind()
def two_levels_of_known_texts(site):
    """An archive: all years show one text and link to months, all months show another one and link
    to articles."""
    years = [f"/archive/{2000 + n}/" for n in range(site.some(12, 8))]
    for year in years:
        months = [f"{year}{n:02}/" for n in range(1, site.some(13, 7))]
        site.page(year, "year", title="Archive", links=months)
        for month in months:
            urls = [f"/article{month}{n}" for n in range(3)]
            site.page(month, "month", title="Month", links=urls)
            for url in urls:
                site.page(url, url)
    site.index("/", years)


@kind(must_keep_all=NEVER)
def unmet_and_worthless(site):
    """Tags that show one text and link to two copies of known articles that nothing else links to;
    one in ten links to a new article, too."""
    known = [f"/article/{number}" for number in range(40)]
    for url in known:
        site.page(url, url)
    tags = [f"/tag/{number}/" for number in range(site.some(200, 90))]
    for number, tag in enumerate(tags):
        links = []
        for n, url in enumerate(site.chance.sample(known, 2)):
            links.append(f"{url}?from={number}-{n}")
            site.page(links[-1], url)
        if number % 10 == 6:
            links.insert(1, f"/rare/{number}")
            site.page(links[1], links[1])
        site.page(tag, "tag", title="Tag", links=links)
    site.index("/", [*site.indexes(known), *site.indexes(tags, name="tags")])


@kind()
def copies_that_lead_on(site):
    """`?view=full` shows what the plain page shows, and links to a page of notes that nothing else
    links to."""
    urls = []
    for number in range(site.some(120, 60)):
        url, copy, notes = (f"/report/{number}{end}" for end in ("", "?view=full", "/notes"))
        site.page(url, url, links=[copy])
        site.page(copy, url, links=[notes])
        site.page(notes, notes)
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind(must_keep_all=UNLESS_SKIPPING)
def wrong_on_an_eighth(site):
    """`?view=` shows the page itself but on an eighth of the pages, the last ones; the crawl is
    ended by CLOSESPIDER_PAGECOUNT when it meets them. What it withheld by then may be lost."""
    urls = []
    count = site.some(240, 110)
    for number in range(count):
        url = f"/page/{site.words(f'page {number}', 1).lower()}{number}"
        others = [f"{url}?view={value}" for value in ("a", "b")]
        for each in (url, *others):
            content = each if number >= count // 2 and number % 4 == 1 else url
            site.page(each, content, links=others if each == url else ())
        urls.append(url)
    lists = site.indexes(urls)
    site.ends_after = 1 + len(lists) + count + 90
    site.index("/", lists)


@kind(found=0.8)
def lengths_of_lists(site):
    """A repository's history from each revision: `?rows=120`, `60` and `30` show all of it, only
    shorter ones are texts of their own, and only the next longer one links to each of them; all
    pages carry the parameter on to the pages of revisions, where it has no effect."""
    count = site.some(60, 30)
    revisions = [f"{site.chance.getrandbits(48):012x}" for _ in range(count)]
    for number, revision in enumerate(revisions):
        near = [revisions[(k * number + k) % count] for k in (1, 2, 3)]
        log = f"/log/{revision}"
        rows = [f"<tr><td>{site.words(f'{revision} {n}', 12)}</td></tr>" for n in range(24)]
        for length in ("", 120, 60, 30, 12, 5):
            query = f"?rows={length}" if length else ""
            shown = rows[: length or None]
            shorter = {"": 30, 120: 60, 60: 30, 30: 12, 12: 5}.get(length)
            links = [f"/rev/{other}{query}" for other in near]
            links += [f"{log}?rows={shorter}"] if shorter else []
            links += [f"{log}?rows=120"] if not length else []
            text = f"<table>{''.join(shown)}</table>"
            site.page(
                f"{log}{query}", f"{log} {len(shown)}", text=text, title=f"Log {revision}",
                links=links,
            )  # fmt: skip
            links = [f"{log}{query}"]
            site.page(f"/rev/{revision}{query}", f"/rev/{revision}", links=links)
    site.index("/", site.indexes([f"/log/{revision}" for revision in revisions]))


@kind()
def weeks_behind_a_copy(site):
    """Lists by week, of which the newest stands at two URLs; only the copy links to other weeks.
    In its folder many copies are dropped, behind which nothing new stands."""
    count = site.some(60, 30)
    days = [f"/log/day-{number:03}" for number in range(count)]
    steps = [(), *((a,) for a in range(count)), *product(range(count), repeat=2)]
    for (number, day), trail in product(enumerate(days), steps):
        query = f"?trail={'.'.join(map(str, trail))}" if trail else ""
        longer = ".".join(map(str, (*trail, number)[-2:]))
        links = [f"{days[(k * number + k) % count]}?trail={longer}" for k in (1, 2, 3, 5)]
        site.page(f"{day}{query}", day, links=links)
    for week in range(6):
        around = [f"/log/?week={each}" for each in (week - 1, week + 1) if 0 <= each < 6]
        site.page(f"/log/?week={week}", f"week {week}", links=["/", *around])
    site.page("/log/", "newest", links=[days[0]])
    site.page("/log/?weeks", "newest", links=["/log/?week=5"])
    site.page("/log/help", "help", links=["/log/?weeks"])
    site.page("/log/about", "about", links=["/log/help"])
    site.index("/", ["/log/", *site.chain([*days, "/log/about"])])
