"""A host that is told of pages as a crawl tells of them."""

from itertools import count

from scrapy_neardup.claims.claim import NEEDED
from scrapy_neardup.claims.claimbook import Key
from scrapy_neardup.claims.host import Host
from scrapy_neardup.claims.part import PARAMETER, SEGMENT, Part
from scrapy_neardup.claims.urlparts import Parts

SID = Part(PARAMETER, "sid")
PRINT = Part(SEGMENT, "print", None, 0)


def at(path):
    return Parts.of(f"http://example.com{path}")


def told(changes):
    """Return which claims begin, and which end."""
    return [(*change.key, change.begins) for change in changes]


class ClaimedSite:
    """A host that is told of pages as a crawl tells of them."""

    def __init__(self, host=None):
        self.host = host or Host()
        self.first = {}
        self.numbers = count(1)

    def page(self, path, shows=None):
        """Learn a page that shows a content; it is new if nothing showed that before."""
        shows = shows or path
        content, of = self.first.setdefault(shows, (next(self.numbers), path))
        match = None if of == path else at(of)
        changes, _ = self.host.learn(at(path), content, is_new=of == path, match=match)
        return told(changes)

    def finds(self, path):
        """Return the parts that claims in force take from a URL to map it onto a known page."""
        found = self.host.find(at(path))
        return None if found is None else [key.part for key in found.keys]

    def confirm(self, form, times=NEEDED, start=0, folder="/p"):
        """Show that URLs of a form show the plain page; return what changed."""
        changes = []
        for number in range(start, start + times):
            self.page(f"{folder}/{number}")
            changes += self.page(form.format(f"{folder}/{number}", number), f"{folder}/{number}")
        return changes

    def hears_of(self, other):
        return told(self.host.add_others([other.host.claims.dump()]))

    def claim(self, place, part):
        return self.host.claims[Key(place, part)]
