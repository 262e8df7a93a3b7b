"""Worlds of texts: manuals, news, laws, lists of people and events. No page may be lost."""

from __future__ import annotations

from worlds_shops import unlike
from worlds_site import World, family, slug


@family()
def events(world: World) -> None:
    """A series of events whose pages share title and 80 words and differ in date, speaker and
    subject: none may be lost."""
    common, title = world.paragraphs(80), world.title(3)
    for number in range(50):
        speaker, subject = " ".join(world.names(2)), world.title(5)
        date = f"{number % 28 + 1}. {number % 12 + 1}. 2024"
        body = f"<h1>{title}</h1><p>{date}: {speaker}, {subject}</p>{common}"
        world.add(f"/events/{number}", number, body, title=title)


@family()
def profiles(world: World) -> None:
    """Profiles of users, most of whom said nothing of themselves: 60 common words, a name, a town
    and the day they joined: none may be lost."""
    common = world.paragraphs(60)
    towns = world.names(20)
    for name in unlike(world, 60):
        day = f"{world.chance.randint(1, 28)} May {world.chance.randint(2001, 2024)}"
        about = f"<p>{name}, {world.chance.choice(towns)}, joined {day}</p>"
        about += f"<p>{world.prose(20)}</p>" if world.chance.random() < 0.3 else ""
        body = f"<h1>{name}</h1>{about}{common}"
        world.add(f"/users/{slug(name)}", name, body, title=f"Profile of {name}")


@family()
def headlines(world: World) -> None:
    """Pages of a news ticker: 40 common words and five headlines, of which each page shares four
    with the one before, under one title: none may be lost."""
    common, shown = world.prose(40), [world.title(7) for _ in range(5)]
    for number in range(50):
        items = "".join(f"<li>{each}</li>" for each in shown)
        body = f"<h1>Ticker</h1><ul>{items}</ul><p>{common}</p>"
        world.add(f"/ticker/{number}", number, body, title="Ticker")
        shown = [world.title(7), *shown[:-1]]


@family(names=("kept", "translated"))
def translations(world: World, names: str) -> None:
    """Pages of 120 words in three languages, names in the titles {names}, code of 40 words the
    same in all: none may be lost."""
    for number in range(30):
        title, code = world.title(), " ".join(world.words(40))
        for language in ("en", "fr", "pt"):
            shown = title if names == "kept" else world.title()
            body = f"<h1>{shown}</h1>{world.paragraphs(120)}<pre>{code}</pre>"
            path = f"/{language}/{number}"
            world.add(path, path, body, title=shown, section=language, language=language)


@family(common=(40, 150))
def parts(world: World, common: int) -> None:
    """Articles in five parts (/article/3) under one title, each with the same summary of {common}
    words and 180 words of its own: none may be lost."""
    for article in range(15):
        title, summary = world.title(), world.paragraphs(common)
        for part in range(1, 6):
            path = f"/{slug(title)}/{part}"
            body = f"<h1>{title}</h1>{summary}{world.paragraphs(180)}"
            world.add(path, path, body, title=title, section=str(article))


@family(words=(8, 20))
def reference(world: World, words: int) -> None:
    """An API's reference: short pages of a template of 30 words in which a name and {words} words
    are their own: none may be lost."""
    before, after = world.prose(15), world.prose(15)
    for name in unlike(world, 80):
        body = f"<h1>{name}</h1><p>{before}</p><p>{world.prose(words)}</p><p>{after}</p>"
        world.add(f"/api/{slug(name)}.html", name, body, title=f"{name} reference")


@family()
def accessors(world: World) -> None:
    """Short pages of methods that say the same but for the name of a property, which is in title,
    heading and text: none may be lost."""
    for name in world.names(60):
        for verb in ("get", "set"):
            method = f"{verb}{name}"
            text = f"{method} {verb}s the {name.lower()} of the object. Returns the {name}."
            body = f"<h1>{method}</h1><p>{text}</p><p>Since version 1.2.</p>"
            world.add(f"/api/{method}.html", method, body, title=method)


@family(titles=("own", "common"))
def sections_of_law(world: World, titles: str) -> None:
    """Sections of a law: 12 to 60 words of their own among 50 of notes, titles ({titles}) that
    say the section or the law: none may be lost."""
    notes, law = world.paragraphs(50), world.title(3)
    for number in range(1, 61):
        title = f"§ {number} {world.title(3)}" if titles == "own" else law
        body = f"<h1>{title}</h1><p>{world.prose(world.chance.randint(12, 60))}</p>{notes}"
        world.add(f"/law/{number}", number, body, title=title)


@family()
def sayings(world: World) -> None:
    """A collection of sayings, one of 14 words at the top of each page above 150 common words,
    under one title: none may be lost."""
    common = world.paragraphs(150)
    for number in range(60):
        body = f"<h1>Sayings</h1><p>{world.prose(14)}</p>{common}"
        world.add(f"/sayings/{number}", number, body, title="Sayings")


@family()
def branches(world: World) -> None:
    """Branches of a bank: 120 common words, an address, and a title that names the town: none may
    be lost."""
    common = world.paragraphs(120)
    for town in world.names(60):
        street = f"{world.names(1)[0]} street {world.chance.randint(1, 99)}"
        body = f"<h1>Branch {town}</h1><p>{street}, {town}</p>{common}"
        world.add(f"/branches/{slug(town)}", town, body, title=f"Branch {town}")


@family()
def code_in_languages(world: World) -> None:
    """30 pages of a manual under ?lang=, with 120 words in common and 40 of code in each of three
    programming languages: none may be lost."""
    for number in range(30):
        title, text = world.title(), world.paragraphs(120)
        for language in ("python", "java", "rust"):
            code = "\n".join(" ".join(world.words(5)) for _ in range(8))
            path = f"/manual/{number}?lang={language}"
            world.add(path, path, f"<h1>{title}</h1>{text}<pre>{code}</pre>", title=title)


@family()
def results(world: World) -> None:
    """Results of 60 searches (?q=WORD): ten of 15 words each below 30 common words, under one
    title: none may be lost."""
    common = world.prose(30)
    for word in world.names(60):
        found = "".join(f"<li>{world.prose(15)}</li>" for _ in range(10))
        body = f"<h1>Search</h1><p>{common}</p><ol>{found}</ol>"
        world.add(f"/search?q={word}", word, body, title="Search")


@family(titles=("own", "common"))
def chinese(world: World, titles: str) -> None:
    """Pages in Chinese script under {titles} titles: 150 common characters, and 80 of their own,
    or 10 where titles are: none may be lost."""

    def characters(count: int) -> str:
        drawn = (chr(0x4E00 + int(world.chance.paretovariate(0.4)) % 6000) for _ in range(count))
        return "".join(drawn)

    common, alike = characters(150), characters(6)
    for number in range(60):
        title, own = (characters(6), 10) if titles == "own" else (alike, 80)
        body = f"<h1>{title}</h1><p>{common}</p><p>{characters(own)}。</p>"
        world.add(f"/zh/{number}", number, body, title=title, language="zh")


@family()
def versions_of_notes(world: World) -> None:
    """Release notes: 70 common words, a version in the title, and 15 to 40 words of their own:
    none may be lost."""
    common = world.paragraphs(70)
    for number in range(50):
        title = f"Version {number // 10}.{number % 10}"
        body = f"<h1>{title}</h1><p>{world.prose(world.chance.randint(15, 40))}</p>{common}"
        world.add(f"/notes/{number}", number, body, title=title)


@family()
def weather(world: World) -> None:
    """The weather in 60 towns: 100 common words, a table of numbers, and the town's name in title,
    heading and a line: none may be lost."""
    common = world.paragraphs(100)
    for town in world.names(60):
        cells = "".join(f"<td>{world.chance.randint(-9, 35)}</td>" for _ in range(12))
        body = f"<h1>Weather in {town}</h1><p>{town} today</p><table><tr>{cells}</tr></table>"
        world.add(f"/weather/{slug(town)}", town, body, common, title=f"Weather in {town}")


@family(words=(40, 120))
def sources(world: World, words: int) -> None:
    """Files of source code under the same licence of 300 words, with {words} words of their own
    and the file's name as title: none may be lost."""
    licence = world.prose(300)
    for name in unlike(world, 50):
        file = f"{slug(name)}.py"
        code = "\n".join(" ".join(world.words(6)) for _ in range(words // 6))
        body = f"<h1>{file}</h1><pre># {licence}\n\n{code}</pre>"
        world.add(f"/source/{file}.html", name, body, title=file)
