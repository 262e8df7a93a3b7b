"""The URL rules of one host, learnt from verdicts and checked by them.

Each judged page is compared with its relatives: known URLs that differ from it by one rule. If
both have the same content, that confirms the rule. If the later one was judged new, that
contradicts the rule, which ends for good. Known URLs are kept as hashes (`knownurls.py`), so that
a page costs some look-ups, whatever the host's size. Memory is at most 256 kB, and some 1 kB for a
host of ten pages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.dust.empty import EmptyPatterns
from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.knownurls import MAX_NAMES, KnownPages, Shown, key_without, relatives
from scrapy_neardup.dust.rulebook import Change, RuleBook
from scrapy_neardup.dust.urlparts import Parts, hash_of, key_of, name_of
from scrapy_neardup.dust.urlrule import CASE, PARAMETER, SEGMENT, VALUE, Rule, difference

SHORT: Final = 32
"""Number of words below which a page is short, so that one word decides what it repeats."""
MAX_VALUE: Final = 40
"""Maximum characters of a parameter whose value may have a rule of its own."""
_CASE: Final = Rule(CASE)


class Known(NamedTuple):
    """The known page that rules map a URL onto."""

    rules: tuple[Rule, ...]
    content: int


Related = tuple[Rule, Parts, int]
"""A rule, a page's URL under it, and the content of a known page that it may join with that."""


class Lesson(NamedTuple):
    """What was learnt from a page."""

    changes: list[Change]
    """The rules that begin or end with the page."""
    is_joined: bool
    """Whether a rule in force had mapped the page onto a known one of the same content."""


class Host:
    """One host, with and without ``www.``."""

    __slots__ = ("_book", "_empty", "_known", "_names", "_together", "pages")

    def __init__(self) -> None:
        self.pages = 0
        """Number of its pages that were judged; see `Hosts.met`."""
        self._known = KnownPages()
        self._book = RuleBook()
        self._names: dict[str, Rule] = {}  # of the first parameters
        self._together: BoundedDict[tuple[str, ...], None] = BoundedDict(MAX_NAMES)
        """Names of the parameters of one URL, where there are several."""
        self._empty = EmptyPatterns()

    @property
    def nbytes(self) -> int:
        """Upper bound of the bytes that are held."""
        return self._known.nbytes + self._book.nbytes

    @property
    def active(self) -> list[Rule]:
        """The rules that are in force."""
        return [*self._book.active, *self._empty.active]

    def find(self, page: Parts) -> Known | None:
        """Return the known page that rules map a URL onto. O(rules in force)."""
        if (rule := self._empty.find(page)) is not None:
            return Known((rule,), 0)
        if not self._book.active:
            return None
        canonical, used = self._book.apply(page)
        content = self._known.shown(key_of(canonical)) if used else None
        if content is None:
            found = self._first_relative(canonical)
            if found is None:
                return None
            content, rules = found
            used = tuple(dict.fromkeys((*used, *rules)))
        return Known(used, content) if self._book.apply_in(canonical, used) else None

    def sparing(self, page: Parts) -> Known | None:
        """Return the known page that makes the request of a URL needless; None for none.

        A printed page doesn't make that of its original needless.
        """
        found = self.find(page)
        if found is None or not any(rule.is_one_way for rule in found.rules):
            return found
        used = self._book.apply(page)[1]
        return found if all(rule in used for rule in found.rules if rule.is_one_way) else None

    def knows(self, page: Parts) -> bool:
        """Whether this very URL is known."""
        return key_of(page) in self._known

    def joined(self, page: Parts) -> tuple[int, tuple[Rule, ...]]:
        """Return the key that all URLs of the page have under the rules, and the rules used."""
        canonical, used = self._book.apply(page)
        if not used or not self._book.apply_in(canonical, used):
            return key_of(page), ()
        return key_of(canonical), used

    def printed(self, page: Parts) -> tuple[int, tuple[Rule, ...]] | None:
        """Return what `joined` does for the original of a printed page, by its name.

        None for another page, or if a rule about its name was contradicted.
        """
        original = page.original
        if original == page:
            return None
        rules = difference(page, original)
        if not rules or any(e.counter for e in map(self._book.get, rules) if e):
            return None
        return self.joined(original)[0], rules

    def has_learnt(self, page: Parts, content: int, match: Parts | None) -> bool:
        """Whether nothing is to be learnt from a page that repeats another one.

        Rules that as many pages have confirmed as are counted map it onto the same content, which
        isn't only that of a printed copy. Parameters are as of `learn`.
        """
        found = self.sparing(page)
        if found is None or not all(map(self._book.is_full, found.rules)):
            return False
        return found.content == self._shown_by(match, content)

    def learn(
        self,
        page: Parts,
        content: int,
        *,
        is_new: bool,
        match: Parts | None = None,
        words: int = 0,
        letters: int = 0,
        brings: bool | None = True,
    ) -> Lesson:
        """Learn from a page that was judged.

        `content` is the 24-bit number of its content: its own if it is new, else that of the page
        it repeats, whose URL is `match`, if known.

        `words` and `letters` are hashes of its words and letters in any order; 0: unknown. A new
        page with the words of another one is that page in another order (a list that is sorted
        differently). One with the letters of another one, from which it differs in a clock or a
        counter, is evidence neither for nor against a rule.

        `brings` is whether it brings anything that the host hasn't shown; None where it is too
        short to tell. A new page that brings nothing confirms a rule that removes a path segment,
        as printed pages lack a line, or add one; it contradicts any other rule, unless such a rule
        is used with it, or the other page was seen under such a rule.
        """
        known = self._known
        canonical, used = self._book.apply(page)
        if len(names := page.names) > 1:
            self._together[names] = None
        content = self._shown_by(match, content)
        of = canonical if match is None else self._book.apply(match)[0]
        rules = () if match is None else difference(canonical, of)
        related = self._related(canonical, used)
        if is_new:
            texts = {o: known.compare(o, words, letters) for o in self._contents(page, related)}
            same = [each for each, shown in texts.items() if shown is Shown.WORDS]
            alike = [each for each, shown in texts.items() if shown is Shown.LETTERS]
            if same:
                content, is_new = same[0], False
            elif alike:
                self._add(page, canonical, alike[0])
                return Lesson([], is_joined=False)
        changes = self._of_pattern(page, content, match, is_new=is_new and brings is not False)
        if canonical != of and not rules:  # a sibling, whose text differs somewhere
            content = hash_of(page.url, VALUE_BITS)
        known.note_text(content, words, letters)
        compared, is_joined = self._compare(
            page, canonical, used, related, content, is_new=is_new, brings=brings
        )
        changes += compared
        if match is not None:
            changes += self._repeats(page, canonical, match, rules, content)
        if any(not change.begins for change in changes):
            known.forget_derived()
            canonical = self._book.apply(page)[0]
        if any(rule.kind == SEGMENT for rule in used):
            known.note_copied(content)
        stays = is_new and not brings and known.shown(key_of(canonical)) is not None
        stays |= any(rule.is_one_way for rule in used)
        self._add(page, page if stays else canonical, content)
        return Lesson(changes, is_joined)

    def _add(self, page: Parts, canonical: Parts, content: int) -> None:
        """Note what a page shows."""
        has_case = self._book.get(_CASE) is not None
        self._known.add(page, canonical, content, in_any_case=has_case)

    def lacks(self, rule: Rule, checked: int) -> int:
        """Return how many more pages have to confirm a rule before the crawl ends.

        Of those it skips, `checked` were requested all the same, and contradicted nothing.
        """
        evidence = self._book.get(rule)
        confirmed = 0 if evidence is None else evidence.confirmed
        return rule.checks - max(confirmed, rule.needed + checked)

    def forget(self, page: Parts) -> None:
        """Forget the content of a URL, and with it all URLs that have it."""
        self._known.forget(key_of(page))

    # Learning

    def _of_pattern(
        self, page: Parts, content: int, match: Parts | None, *, is_new: bool
    ) -> list[Change]:
        """Learn whether the page's pattern ever says anything."""
        if match is not None and (begun := self._empty.repeats(page, content)):
            return [Change(begun, begins=True, pair=(page.url, match.url))]
        if is_new and (ended := self._empty.is_new(page)) is not None:
            return [Change(ended, begins=False, pair=(page.url, ""))]
        return []

    def _compare(
        self,
        page: Parts,
        canonical: Parts,
        used: Collection[Rule],
        related: Iterable[Related],
        content: int,
        *,
        is_new: bool,
        brings: bool | None,
    ) -> Lesson:
        """Compare a page with its relatives."""
        changes: list[Change] = []
        is_joined, known = False, self._known

        def is_against(rule: Rule, others: Collection[Rule], shown: int) -> bool:
            """Whether the page contradicts a rule that maps it onto one of another content.

            A page that brings nothing may be a copy at another segment, or the original of one.
            One whose relative's text is forgotten may be that page in another order.
            """
            if known.compare(shown, 0, 0) is Shown.FORGOTTEN:
                return False
            is_copy = known.is_copied(shown) or any(r.kind == SEGMENT for r in (rule, *others))
            return is_new and bool(brings or rule.is_edition or not is_copy)

        while is_new and (found := self.find(page)) is not None and found.content != content:
            rules = found.rules
            blamed = [rule for rule in rules if is_against(rule, rules, found.content)]
            if not blamed:
                break
            changes += self._book.end(self._book.weakest(blamed), (page.url, canonical.url))
            known.forget_derived()
            canonical, used = self._book.apply(page)
            related = self._related(canonical, used)
        for rule, other, shown in related:
            pair = (page.url, other.url)
            is_copy = is_new and brings is False and rule.kind == SEGMENT and not rule.is_edition
            if shown == content or is_copy:
                is_joined |= rule in self._book.active
                changes += self._book.support(rule, shown, other.section, pair)
            elif is_against(rule, used, shown):
                changes += self._book.end(rule, pair)
        if is_new and brings and len(canonical.query) > 1:
            self._doubt_joint(canonical, content)
        return Lesson(changes, is_joined)

    def _related(self, page: Parts, used: Collection[Rule]) -> list[Related]:
        """Return the known pages that rules may join with one."""
        return [
            (rule, other, shown)
            for rule, other, changed in self._candidates(page, used)
            for key in relatives(rule, other, changed=changed)
            if (shown := self._known.shown(key)) is not None
        ]

    def _contents(self, page: Parts, related: Iterable[Related]) -> dict[int, None]:
        """Return the contents that rules, in force or not, compare a page with."""
        found = self.find(page)
        contents = dict.fromkeys(shown for _, _, shown in related)
        contents.update(dict.fromkeys(self._empty.targets(page)))
        return contents if found is None else contents | {found.content: None}

    def _candidates(
        self, page: Parts, used: Collection[Rule]
    ) -> Iterator[tuple[Rule, Parts, bool]]:
        """Yield rules that may map a page onto known ones.

        With each, the page's URL under the rule, and whether the rule changes it.
        """
        names = page.names[:MAX_NAMES]
        for name in names:
            rule, base = Rule(PARAMETER, name), page.without(name)
            yield rule, base, True
            if len(self._names) < MAX_NAMES:
                self._names[name] = rule
            evidence = self._book.get(rule)
            if evidence is not None and evidence.counter is not None:
                part = next(each for each in page.query if name_of(each) == name)
                if len(part) <= MAX_VALUE and len(base.query) == len(page.query) - 1:
                    yield Rule(VALUE, part), base, True
        unseen = [rule for rule in self._names.values() if self._book.get(rule) is None]
        for rule in (*unseen, *self._book.open()):
            if rule.kind != PARAMETER or rule.what not in names:
                applied = rule.apply(page)
                yield rule, applied, (applied is not page and applied != page) or rule in used

    def _doubt_joint(self, page: Parts, content: int) -> None:
        """Note that parameters that occur together may have an effect together."""
        if self._known.shown(key_of(page._replace(query=()))) in {None, content}:
            return
        for name in page.names[:MAX_NAMES]:
            if (evidence := self._book.get(Rule(PARAMETER, name))) is not None:
                evidence.joint_counter = True

    def _repeats(
        self, page: Parts, canonical: Parts, match: Parts, rules: Sequence[Rule], content: int
    ) -> list[Change]:
        """Learn from a page and the one that it repeats, which rules join."""
        changes = []
        pair = (page.url, match.url)
        for rule in rules:
            if rule.kind == SEGMENT and rule.what.isdecimal():
                continue  # two numbered pages that are alike, not a rule
            section = rule.apply(canonical).section
            changes += self._book.support(rule, content, section, pair, jointly=len(rules) > 1)
        return changes

    # What is known

    def _shown_by(self, match: Parts | None, content: int) -> int:
        """Return what the URL of a matching page shows under the rules; `content` if unknown."""
        if match is None:
            return content
        shown = self._known.shown(key_of(self._book.apply(match)[0]))
        return content if shown is None else shown

    def _first_relative(self, page: Parts) -> tuple[int, tuple[Rule, ...]] | None:
        """Return the content of a known page that rules map onto a canonical URL."""
        for names in () if page.query else self._together:
            rules = tuple(Rule(PARAMETER, name) for name in names)
            if set(rules).issubset(self._book.active):
                content = self._known.shown(key_without(page, names))
                if content is not None:
                    return content, rules
        for rule in self._book.active:
            for key in relatives(rule, page, changed=False):
                if (content := self._known.shown(key)) is not None:
                    return content, (rule,)
        return None

    # Sharing

    def dump(self) -> bytes:
        """Return the rules and their evidence, for other crawlers."""
        return self._book.dump()

    def add_others(self, dumps: Iterable[bytes]) -> list[Change]:
        """Add what others have learnt; what can't be read is skipped."""
        changes = self._book.add_others(dumps)
        if any(not change.begins for change in changes):
            self._known.forget_derived()
        return changes

    def state(self) -> bytes:
        """Return all that is known, for a resumed crawl."""
        rules = self.dump()
        return len(rules).to_bytes(4, "little") + rules + self._known.dump()

    @classmethod
    def restored(cls, state: bytes) -> Host | None:
        """Return the host that `state` has written; None if it can't be read."""
        size = int.from_bytes(state[:4], "little")
        host = cls()
        host.add_others([state[4 : 4 + size]])
        try:
            host._known = KnownPages.load(state[4 + size :])
        except ValueError:
            return None
        return host


MAX_HOSTS: Final = 4_096
"""Maximum number of hosts."""

MAX_BYTES: Final = 64 << 20
"""Maximum bytes of all hosts; the least recently seen ones are forgotten."""

_MEASURED: Final = 256
"""Number of look-ups after which the bytes are counted."""


class Hosts(BoundedDict[str, Host]):
    """The hosts of a crawl by name, the most recently seen last."""

    def __init__(self) -> None:
        super().__init__(MAX_HOSTS)
        self._asked = 0

    def met(self, name: str) -> Host:
        """Return the host of a judged page, which becomes the most recent."""
        host = self.used(name, Host)
        host.pages += 1
        self._asked += 1
        if not self._asked % _MEASURED:
            held = sum(each.nbytes for each in self.values())
            while held > MAX_BYTES and len(self) > 1:
                held -= self.popitem(last=False)[1].nbytes
        return host
