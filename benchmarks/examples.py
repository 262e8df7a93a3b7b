"""Wrong decisions one by one, so that a person can look at the pages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sites import DUPLICATE, LOST, Site, Source, load, places
from trials import Outcome, seeded

from scrapy_neardup.analysis import Analyser
from scrapy_neardup.decision.comparison import deciding
from scrapy_neardup.decision.evidence import HEAD_SIZE
from scrapy_neardup.fingerprints import features, hamming_distance, token_hashes
from scrapy_neardup.parameters import Parameters
from scrapy_neardup.text import Content, Form
from scrapy_neardup.verdict import Candidate, Page


def show(
    label: str, sources: list[Source], parameters: Parameters, outcomes: list[Outcome], most: int
) -> None:
    """Print what went wrong with hash seed 0, in the sites' own orders."""
    found = {outcome.site: outcome for outcome in outcomes if not outcome.seed + outcome.order}
    analyser = Analyser(seeded(parameters, 0))
    for source in sources:
        site = load(source)
        outcome = found[site.name]
        for kind, lines in (
            ("lost", lost(site, outcome, analyser)),
            ("wrongly dropped, not lost", mistaken(site, outcome, analyser)),
            ("missed", missed(site, outcome, analyser)),
        ):
            listed = list(lines)
            print("\n".join([f"\n{label}, {site.name}: {len(listed)} {kind}", *listed[:most]]))


def lost(site: Site, outcome: Outcome, analyser: Analyser) -> Iterator[str]:
    """Describe dropped pages that no earlier page resembles."""
    place = places(site.orders(0)[0])
    for page, match in outcome.dropped.items():
        if site.nearest(page, place)[0] < LOST:
            yield described(site, analyser, page, match.page_id)


def mistaken(site: Site, outcome: Outcome, analyser: Analyser) -> Iterator[str]:
    """Describe dropped pages that are no duplicates, but much alike an earlier one."""
    place = places(site.orders(0)[0])
    for page, match in outcome.dropped.items():
        if LOST <= site.nearest(page, place)[0] < DUPLICATE:
            yield described(site, analyser, page, match.page_id)


def missed(site: Site, outcome: Outcome, analyser: Analyser) -> Iterator[str]:
    """Describe duplicates that were kept."""
    place = places(site.orders(0)[0])
    for page in range(len(site.pages)):
        value, other = site.nearest(page, place)
        if value >= DUPLICATE and page not in outcome.dropped:
            fate = "itself dropped" if other in outcome.dropped else "kept"
            yield described(site, analyser, page, other, fate)


def described(site: Site, analyser: Analyser, page: int, other: int, fate: str = "") -> str:
    """Describe two pages: resemblance by the truth, as the plugin sees them, as it estimates."""
    truth = dict(site.alike.get(page, ())).get(other)
    parts = [f"truth {'< .8' if truth is None else f'{truth:.3f}'}"]
    ours, theirs = (site.contents[number] for number in (page, other))
    parts.append(f"main text {exact(ours.text, theirs.text):.3f}")
    cores = [core(content) for content in (ours, theirs)]
    if any(
        len(each) < len(content.blocks)
        for each, content in zip(cores, (ours, theirs), strict=True)
    ):
        parts.append(f"core {exact(*map(chr(10).join, cores)):.3f}")
    a, b = (analyser.page(site.contents[n], page_id=n, url=site.url(n)) for n in (page, other))
    parts.append(f"{a.tokens} and {b.tokens} tokens")
    if isinstance(a, Page) and isinstance(b, Page):
        if a.exact or b.exact:
            parts.append("short")
        else:
            parts.append(f"distance {hamming_distance(a.fingerprint, b.fingerprint)}")
            if a.features:
                shared = sum(x == y for x, y in zip(a.features, b.features, strict=True))
                parts.append(f"{shared} features")
        if len(a.evidence) == len(b.evidence) > HEAD_SIZE:
            found = Candidate(b.id, 0, b.evidence)
            decided = deciding(a, analyser.parameters.matching)(found)
            parts.append(f"{decided.identity}: {decided.rule}")
            parts += [
                f"{differing} of {of} shingles of {name}" for name, differing, of in decided.views
            ]
    suffix = f"  ({fate})" if fate else ""
    return f"  {site.pages[page]}\n  {site.pages[other]}{suffix}\n      {', '.join(parts)}"


def core(content: Content) -> list[str]:
    """Return the texts of a page that are content by their form."""
    return [block.text for block in content.blocks if block.form is Form.CONTENT]


def exact(a: str, b: str) -> float:
    """Return the Jaccard resemblance of the word 4-shingles of two texts."""
    x, y = (features(token_hashes(text), shingle_size=4)[0] for text in (a, b))
    shared = len(np.intersect1d(x, y, assume_unique=True))
    return shared / max(1, len(x) + len(y) - shared)
