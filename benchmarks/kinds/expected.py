"""What a crawl of a kind of site has to reach."""

from kinds.crawls import How, SiteOutcome
from kinds.site import ALWAYS, KINDS, NEVER

EXPERIMENTS = 0.02
"""The share of a crawl's requests that may be experiments."""
AT_LEAST = 40
"""Number of experiments that any crawl may make."""
TESTS = 120
"""Number of needless requests of a site up to which none need be saved: as many show and test the
claims about some parameters."""


def lost(outcome: SiteOutcome, how: How) -> list[str]:
    """Return what a crawl lost that its kind has to keep, and what was said wrongly of changes."""
    kind = KINDS[outcome.name]
    found = []
    if outcome.errors:
        found.append(f"{outcome.errors} errors in the log")
    counts = {"wrong drops": outcome.wrong}
    if kind.must_keep_all == ALWAYS or (kind.must_keep_all != NEVER and how.urls != "skip"):
        counts |= {"never delivered": outcome.never, "contents withheld": outcome.unmade}
    found += [f"{number} {what}" for what, number in counts.items() if number]
    judged = {"changed pages whose verdict doesn't say so": outcome.unsaid,
              "changed pages of which `changes` says nothing": outcome.unreported,
              "contents that `rules --format deny` cuts off": outcome.cut}  # fmt: skip
    return found + [f"{number} {what}" for what, number in judged.items() if number]


def falls_short(outcome: SiteOutcome, how: How) -> list[str]:
    """Return which of the kind's shares weren't reached."""
    kind = KINDS[outcome.name]
    found = []
    if outcome.recall < kind.found:
        found.append(f"{outcome.recall:.2f} of the repetitions found, not {kind.found}")
    saved = kind.saved / 2 if outcome.is_quick else kind.saved
    is_large = outcome.without - outcome.contents > TESTS
    if how.urls == "skip" and kind.saved and is_large and outcome.saved < saved:
        found.append(f"{outcome.saved:.2f} of the needless requests saved, not {saved}")
    most = (1 - kind.found) * outcome.without
    for number, who in ((outcome.missaid, "verdicts"), (outcome.misreported, "`changes`")):
        if number is not None and number > most:
            found.append(f"{who} call {number} unchanged pages changed")
    if how.urls == "skip" and kind.saved and outcome.rules == 0:
        found.append("`rules` shows no rule")
    most = int(EXPERIMENTS * outcome.requests) + AT_LEAST * (how.pauses + 1)
    if outcome.experiments > most:
        found.append(f"{outcome.experiments} experiments, not {most}")
    return found
