"""Programs that many sites run: a forum, a wiki, a shop, a blog with comments."""

from kinds.site import HOST, kind


@kind(found=0.9, saved=0.1)
def forum(site):
    """A forum: threads in one or two parts (`?t=&start=`), each post's address (`?p=`) shows its
    part of the thread, forms to reply show one page, all links carry one of 20 sessions."""
    threads = site.some(60, 22)
    sessions = [f"{site.chance.getrandbits(128):032x}" for _ in range(20)]

    def with_session(url: str) -> str:
        return f"{url}&sid={site.chance.choice(sessions)}" if site.chance.random() < 0.3 else url

    def twice(url: str, content: str, links=(), title: str = "") -> None:
        """Add a page, and all its URLs with sessions, as `otherwise` does."""
        site.page(url, content, links=[with_session(link) for link in links], title=title)

    for thread in range(threads):
        parts = [f"/viewtopic.php?t={thread}"]
        if thread % 3 == 0:
            parts.append(f"/viewtopic.php?t={thread}&start=15")
        title = site.words(f"thread {thread}", 4)
        for number, part in enumerate(parts):
            posts = [f"/viewtopic.php?p={100 * thread + 20 * number + n}" for n in range(3)]
            reply = f"/posting.php?mode=reply&t={thread}"
            profile = f"/memberlist.php?mode=viewprofile&u={thread * 7 % 13}"
            twice(part, part, [*parts, *posts, reply, profile], title)
            for post in posts:
                twice(post, part, [*parts, reply], title)
        twice(f"/posting.php?mode=reply&t={thread}", "log in", title="Log in")
    for member in range(13):
        twice(f"/memberlist.php?mode=viewprofile&u={member}", "log in", title="Log in")
    lists = [f"/viewforum.php?f={at // 20}" for at in range(0, threads, 20)]
    for number, url in enumerate(lists):
        held = range(20 * number, min(20 * number + 20, threads))
        twice(url, url, [f"/viewtopic.php?t={thread}" for thread in held])

    def otherwise(url: str):
        plain, _, session = url.partition("&sid=")
        return site.pages.get(f"{HOST}{plain}") if session in sessions else None

    site.otherwise = otherwise
    site.index("/", lists)


@kind(found=0.8)
def wiki(site):
    """A wiki: each article with its old versions (`?oldid=`), which are other texts, its history,
    and a form to edit that asks to log in."""
    urls = []
    for number in range(site.some(80, 40)):
        url = f"/wiki/{site.words(f'article {number}', 1)}_{number}"
        title = site.words(f"article {number}", 2)
        old = [f"{url}?oldid={number * 100 + n}" for n in range(2)]
        history, edit = f"{url}?action=history", f"{url}?action=edit"
        site.page(url, url, title=title, links=[history, edit])
        site.page(history, history, title=f"History of {title}", links=old)
        site.page(edit, "log in", title="Log in")
        for version in old:
            site.page(version, version, title=title)
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind()
def colour_variants(site):
    """A shop's products in three colours (`?colour=`), each with a description, picture and price
    of its own, and the name, the delivery terms and the care instructions of the product."""
    urls = []
    for number in range(site.some(80, 40)):
        plain = f"/product/{number}"
        variants = [f"{plain}?colour={colour}" for colour in ("red", "blue", "grey")]
        for url in (plain, *variants):
            text = (
                f'<img src="/pictures/{url.replace("?", "-")}.jpg">'
                f"<p>{site.chance.randrange(1000)} Euro</p>{site.prose(url, 60)}"
                f"{site.prose(plain, 30)}"
            )
            title = site.words(plain, 3)
            site.page(url, url, text=text, title=title, links=variants if url == plain else ())
        urls.append(plain)
    site.index("/", site.indexes(urls))


@kind(found=0.8, saved=0.3)
def replies(site):
    """A blog whose comments have links to answer (`?replytocom=N`), which show the article
    itself, and above the form the name of the comment's author."""
    urls = []
    for number in range(site.some(60, 30)):
        url = f"/2026/{site.words(f'post {number}', 2).replace(' ', '-').lower()}/"
        names = [site.words(f"{url} {n}", 2) for n in range(6)]
        comments = [f"<h4>{name} says</h4>{site.prose(f'{url} {name}', 20)}" for name in names]
        text = f"{site.prose(url)}<h3>{len(names)} replies</h3>{''.join(comments)}"
        others = [f"{url}?replytocom={number * 10 + n}" for n in range(len(names))]
        for each, heading in zip(
            (url, *others), ("", *[f" to {name} Cancel" for name in names]), strict=True
        ):
            form = f"<h3>Leave a Reply{heading}</h3><p>Your address isn't shown.</p>"
            site.page(each, url, text=text + form, links=others if each == url else ())
        urls.append(url)
    site.index("/", site.indexes(urls))


@kind(found=0.9)
def drupal(site):
    """`?q=node/N` beside `/node/N` and an alias, all of them one page; `?q=` with other words is a
    search, whose results are texts."""
    urls = []
    for number in range(site.some(120, 60)):
        alias = f"/{site.words(f'node {number}', 2).replace(' ', '-').lower()}-{number}"
        others = [f"/node/{number}", f"/?q=node/{number}"]
        for each in (alias, *others):
            site.page(each, alias, links=others if each == alias else ())
        urls.append(alias)
    searches = [f"/?q=search/{n}" for n in range(site.some(40, 20))]
    for url in searches:
        site.page(url, url)
    site.index("/", [*site.indexes(urls), *site.indexes(searches, name="searches")])


@kind()
def tracked_by_redirects(site):
    """Links lead through `/go?to=…&n=…`, which redirects to the article."""
    urls = [f"/article/{number}" for number in range(site.some(120, 60))]
    for number, url in enumerate(urls):
        near = [urls[(number * k + 1) % len(urls)] for k in (2, 3)]
        goes = [f"/go?to={other}&n={number}" for other in near]
        site.page(url, url, links=goes)
        for go, other in zip(goes, near, strict=True):
            if f"{HOST}{go}" not in site.pages:
                page = site.page(go, "", add=False)
                site.pages[f"{HOST}{go}"] = page._replace(to=f"{HOST}{other}")
    site.index("/", site.indexes(urls))
