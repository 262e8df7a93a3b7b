"""The URL rules of a finished crawl: learnt as in a crawl, and counted exactly.

A crawl checks a rule against the pages whose hashes it still holds, once the rule is a candidate.
Here each candidate is checked against all pages, earlier ones too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_neardup.dust.hashtable import VALUE_BITS
from scrapy_neardup.dust.host import Host
from scrapy_neardup.dust.rulebook import TOPIC, Pair, RuleBook
from scrapy_neardup.dust.urlparts import Parts
from scrapy_neardup.dust.urlrule import EMPTY, SEGMENT, Rule


class JudgedPage(NamedTuple):
    """A page of an audit; see also `Host.learn`."""

    url: str
    content: int
    """Its own id, or that of the page that it repeats."""
    is_new: bool
    match: str = ""
    """URL of the page that it repeats; ``""`` if it isn't known."""
    words: int = 0
    letters: int = 0
    brings: bool | None = True


@dataclass(slots=True)
class Finding:
    """A rule of one host."""

    host: str
    rule: Rule
    support: int = 0
    """Number of contents found at two URLs that the rule joins."""
    contradictions: int = 0
    """Number of pages judged new although the rule maps them onto an earlier one."""
    example: Pair | None = None
    """A pair that confirms the rule, the later page first."""
    counter: Pair | None = None
    """A pair that contradicts it."""
    saved: int = 0
    """Number of requests that the rule would have saved."""

    @property
    def holds(self) -> bool:
        """Whether enough pages confirm the rule, and none contradicts it."""
        return not self.contradictions and self.support >= self.rule.needed


@dataclass(slots=True)
class Findings:
    """The rules of a crawl, valid ones first, by the requests that they save."""

    rules: list[Finding] = field(default_factory=list)
    pages: int = 0
    """Number of pages of the crawl."""
    saved: int = 0
    """Number of requests that all valid rules would have saved together."""

    @property
    def holding(self) -> list[Finding]:
        """The rules that hold."""
        return [finding for finding in self.rules if finding.holds]


def findings(pages: Iterable[JudgedPage]) -> Findings:
    """Return the URL rules of a crawl, given its pages in the order of judging.

    O(pages * rules) of time; memory O(pages).
    """
    found = Findings()
    by_host: defaultdict[str, list[tuple[Parts, JudgedPage]]] = defaultdict(list)
    for page in pages:
        found.pages += 1
        if (parts := Parts.of(page.url)) is not None:
            by_host[parts.host].append((parts, page))
    for name, judged in by_host.items():
        rules = [_counted(name, rule, judged) for rule in _candidates(judged)]
        found.rules += [finding for finding in rules if finding.support]
        found.saved += _saved_together([f.rule for f in rules if f.holds], judged)
    found.rules.sort(key=lambda finding: (finding.holds, finding.saved), reverse=True)
    return found


def learnt(notices: Iterable[tuple[str, bytes]]) -> Findings:
    """Return the rules that crawlers have posted, by topic; what they saved isn't known."""
    books: defaultdict[str, RuleBook] = defaultdict(RuleBook)
    for topic, dump in notices:
        about, _, host = topic.partition(" ")
        if about == TOPIC and " " not in host:
            books[host].add_others([dump])
    found = Findings()
    for host, book in books.items():
        for rule, evidence in book.supported():
            example, counter = evidence.example, evidence.counter
            found.rules.append(
                Finding(host, rule, evidence.confirmed, int(bool(counter)), example, counter)
            )
    found.rules.sort(key=lambda finding: (finding.holds, finding.support), reverse=True)
    return found


def _candidates(judged: Sequence[tuple[Parts, JudgedPage]]) -> list[Rule]:
    """Return the rules that began or ended in a crawl of these pages."""
    host = Host()
    rules: dict[Rule, None] = {}
    for parts, page in judged:
        changes, _ = host.learn(
            parts,
            page.content % (1 << VALUE_BITS),
            is_new=page.is_new,
            match=Parts.of(page.match),
            words=page.words,
            letters=page.letters,
            brings=page.brings,
        )
        rules.update((change.rule, None) for change in changes)
    return list(rules)


def _counted(name: str, rule: Rule, judged: Sequence[tuple[Parts, JudgedPage]]) -> Finding:
    """Check a rule against all pages of its host."""
    finding = Finding(name, rule)
    if rule.kind == EMPTY:
        return _counted_pattern(finding, judged)
    shown: dict[Parts, dict[Parts, JudgedPage]] = {}
    confirmed: set[int] = set()
    for parts, page in judged:
        group = shown.setdefault(rule.apply(parts), {})
        other = next((each for address, each in group.items() if address != parts), None)
        group.setdefault(parts, page)
        if other is None:
            continue
        finding.saved += 1
        pair = (page.url, other.url)
        is_printed = page.brings is False and rule.kind == SEGMENT and not rule.is_edition
        is_same = page.content == other.content or (page.words and page.words == other.words)
        if is_same or is_printed:
            confirmed.add(other.content)
            finding.example = finding.example or pair
        elif page.is_new and not (page.letters and page.letters == other.letters):
            finding.contradictions += 1
            finding.counter = finding.counter or pair
    finding.support = len(confirmed)
    return finding


def _counted_pattern(finding: Finding, judged: Sequence[tuple[Parts, JudgedPage]]) -> Finding:
    pages = [page for parts, page in judged if parts.pattern == finding.rule.what]
    last_new = max((at for at, page in enumerate(pages) if page.is_new), default=-1)
    repeating = pages[last_new + 1 :]
    finding.support = finding.saved = len(repeating)
    if repeating:
        finding.example = (repeating[-1].url, repeating[-1].match)
    return finding


def _saved_together(rules: Sequence[Rule], judged: Sequence[tuple[Parts, JudgedPage]]) -> int:
    """Return the number of pages whose URL is that of an earlier one under some rules."""
    patterns = {rule.what for rule in rules if rule.kind == EMPTY}
    met: set[Parts] = set()
    canonicals: set[Parts] = set()
    saved = 0
    for parts, page in judged:
        if parts in met:
            continue
        met.add(parts)
        canonical = parts
        for rule in rules:
            canonical = rule.apply(canonical)
        saved += canonical in canonicals or (not page.is_new and parts.pattern in patterns)
        canonicals.add(canonical)
    return saved
