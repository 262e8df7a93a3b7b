"""Wrong decisions one by one, so that a person can look at the pages."""

from collections.abc import Iterator

from sites import DUPLICATE, LOST, Site, Source, exact, load, ranks
from trials import Outcome, seeded

from scrapy_neardup.fingerprints import hamming_distance
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.comparison import deciding
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.text import Content, Form
from scrapy_neardup.verdict import Candidate, Page

DROPPED = "itself dropped"
"""What became of a page that a missed one repeats, in a chain of such pages."""


def show(
    label: str, sources: list[Source], parameters: Parameters, outcomes: list[Outcome], most: int
) -> None:
    found = {outcome.site: outcome for outcome in outcomes if not outcome.seed + outcome.order}
    analyser = Analyser(seeded(parameters, 0))
    for source in sources:
        site = load(source)
        lines: dict[str, list[str]] = {"lost": [], "wrongly dropped, not lost": [], "missed": []}
        chains = 0
        for kind, page, other, fate in wrong(site, found[site.name]):
            lines[kind].append(described(site, analyser, page, other, fate))
            chains += fate == DROPPED
        for kind, listed in lines.items():
            print("\n".join([f"\n{label}, {site.name}: {len(listed)} {kind}", *listed[:most]]))
        print(f"of the missed {chains} are chains: what they repeat was dropped, not kept")


def wrong(site: Site, outcome: Outcome) -> Iterator[tuple[str, int, int, str]]:
    """Yield what is wrong about a page, the page, the other one, and what became of that."""
    rank = ranks(site.orders(0)[0])
    for page, match in outcome.dropped.items():
        if (nearest := site.nearest(page, rank)[0]) < DUPLICATE:
            kind = "lost" if nearest < LOST else "wrongly dropped, not lost"
            yield kind, page, match.page_id, ""
    for page in range(len(site.pages)):
        value, other = site.nearest(page, rank)
        if value >= DUPLICATE and page not in outcome.dropped:
            fate = DROPPED if other in outcome.dropped else "kept"
            yield "missed", page, other, fate


def described(site: Site, analyser: Analyser, page: int, other: int, fate: str = "") -> str:
    """Describe two pages: resemblance by the truth, as the plugin sees them, as it estimates."""
    truth = dict(site.alike.get(page, ())).get(other)
    parts = [f"truth {'< .8' if truth is None else f'{truth:.3f}'}"]
    ours, theirs = (site.contents[number] for number in (page, other))
    parts.append(f"main text {exact(ours.text, theirs.text):.3f}")
    if any(block.form is not Form.CONTENT for each in (ours, theirs) for block in each.blocks):
        parts.append(f"main content {exact(main_content(ours), main_content(theirs)):.3f}")
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
        if a.evidence and b.evidence:
            found = Candidate(b.id, 0, b.evidence)
            decided = deciding(a, analyser.parameters.matching)(found)
            parts.append(f"{decided.identity}: {decided.rule}")
            parts += [f"{off} of {of} shingles of {name}" for name, off, of in decided.views]
    suffix = f"  ({fate})" if fate else ""
    return f"  {site.pages[page]}\n  {site.pages[other]}{suffix}\n      {', '.join(parts)}"


def main_content(content: Content) -> str:
    blocks = [block.text for block in content.blocks if block.form is Form.CONTENT]
    return "\n".join(blocks) or content.text
