"""Every option once: its name, type, default, permitted values, and help.

Each option is a field of `Judging`, which says what a near-duplicate is, or of `Crawling`. The
``NEARDUP_*`` settings, the options of the command, the tables of docs/settings.md and every check
are made from these fields. A help text is one sentence and refers to other options by the names of
their settings. docs/quality.md has the measurements behind the defaults.
"""

# ruff: noqa: RUF009  (_option returns what dataclasses.field does)
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, get_args

from scrapy_neardup.settings import validation as kinds
from scrapy_neardup.settings.validation import ValueKind

View = Literal["main", "full"]
"""The text of a page that is judged."""

Method = Literal["simhash", "minwise", "both"]
Permutations = Literal["one", "independent"]
Titles = Literal["learn", "strict", "ignore"]
Weighting = Literal["set", "tf", "sqrt", "log"]

SCOPES: Final = ("all", "host", "domain", "language", "host+language", "domain+language")
"""The pages that a page is compared with."""

LEARNABLE: Final = ("boilerplate", "changing", "titles", "records")
"""What may be learnt about a site."""

ACTIONS: Final = ("drop", "drop-links", "drop-items", "deprioritize", "flag")
"""What may happen to a near-duplicate."""

DROP, DROP_LINKS, DROP_ITEMS, DEPRIORITIZE, FLAG = ACTIONS

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "best": {},
    "compact": {"features": (3, 6, 1), "sketch": (512, 128)},
    "exact": {"min_resemblance": 1.0, "titles": "strict", "text": "full"},
    "paper": {"method": "simhash", "min_resemblance": 0.0, "min_tokens": 32, "shingle_size": 3},
}
"""Name -> values that differ from the defaults of `Judging`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option."""

    name: str
    """Its name as a field: ``max_distance``."""
    kind: ValueKind
    default: Any
    help: str
    """What it does, in one sentence."""
    is_secret: bool
    """Whether messages hide its value."""

    @property
    def setting(self) -> str:
        """Its name as a setting: ``NEARDUP_MAX_DISTANCE``."""
        return f"NEARDUP_{self.name.upper()}"

    def read(self, value: object) -> Any:
        """Return the checked value, or raise a `ConfigurationError` that names the setting."""
        if value is None and self.default is None:
            return None
        return self.kind.read(self.setting, value, is_secret=self.is_secret)


def flag_of(setting: str) -> str:
    """Return the command's option for a setting: ``--max-distance``."""
    return "--" + setting.removeprefix("NEARDUP_").lower().replace("_", "-")


def as_flags(message: str) -> str:
    """Replace the settings that a message names by options of the command.

    A name after the word "setting" stays: "the setting NEARDUP_AUDIT".
    """
    return re.sub(r"(?<!setting )\bNEARDUP_[A-Z_]+", lambda found: flag_of(found[0]), message)


def _option(kind: ValueKind, default: object, help: str, *, is_secret: bool = False) -> Any:  # noqa: A002
    return field(default=default, metadata={"kind": kind, "help": help, "is_secret": is_secret})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """A table of options whose values are checked at construction."""

    def __post_init__(self) -> None:
        for name, option in options_of(type(self)).items():
            object.__setattr__(self, name, option.read(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging(_Checked):
    """The options that say what a near-duplicate is: settings and options of the command."""

    method: Method = _option(
        kinds.one_of(*get_args(Method)),
        "both",
        "How candidates are found: simhash, by fingerprints within NEARDUP_MAX_DISTANCE;"
        " minwise, by shared min-wise features; both, by either.",
    )
    max_distance: int = _option(
        kinds.integer(0, kinds.MAX_DISTANCE),
        3,
        "Maximum Hamming distance between near-duplicates, in bits.",
    )
    features: tuple[int, int, int] = _option(
        kinds.FEATURES,
        (8, 8, 1),
        "Broder's k, s and r: a page has k features, each made of s minima, and a candidate"
        " shares at least r of them.",
    )
    permutations: Permutations = _option(
        kinds.one_of(*get_args(Permutations)),
        "one",
        "Where the minima of the features come from: one, from one permutation whose range is"
        " cut into bins; independent, from k * s permutations, as in Broder's papers.",
    )
    min_resemblance: float = _option(
        kinds.FRACTION,
        0.9,
        "Minimum estimated resemblance of near-duplicates, computed without boilerplate; 0"
        " turns confirmation off.",
    )
    titles: Titles = _option(
        kinds.one_of(*get_args(Titles)),
        "learn",
        "What is required of two pages with different titles: strict, that their texts are"
        " equal (numbers in titles count); learn, that their texts differ at most half as much"
        " as under equal titles (parts of titles that the whole site shares don't count);"
        " ignore, nothing more.",
    )
    learn: Sequence[str] = _option(
        kinds.some_of(*LEARNABLE),
        LEARNABLE,
        "What a crawl may learn about a site: boilerplate, the text that its pages share;"
        " changing, the parts of its pages that change with each response; titles, the parts of"
        " titles that the whole site shares; records, the place on a page that shows which job,"
        " price or quote it is about.",
    )
    sketch: tuple[int, int] = _option(
        kinds.SKETCHES,
        (1792, 256),
        "Sizes in bits of the two sketches that a store keeps of a page: one of its text, one"
        " of the elements that are named as boilerplate.",
    )
    shingle_size: int = _option(
        kinds.integer(1, 64), 4, "Number of consecutive words in a shingle."
    )
    weights: Weighting | Callable[..., Any] = _option(
        kinds.callable_or(*get_args(Weighting)),
        "set",
        "Weight of a shingle in the fingerprint, if it occurs c times: set, 1; tf, c; sqrt, the"
        " square root of c; log, 1 + ln c.",
    )
    text: View | Callable[..., str] = _option(
        kinds.callable_or(*get_args(View)),
        "main",
        "The text that is judged: main, the visible text except for the elements nav and search"
        " and the page's footer; full, all visible text.",
    )
    ignore: Sequence[str] = _option(
        kinds.SELECTORS,
        (),
        "CSS selectors of parts of a page to leave out, such as adverts and counters.",
    )
    min_tokens: int = _option(
        kinds.integer(0, 1_000_000),
        20,
        "Minimum number of words for pages to be compared by resemblance, not counting the text"
        " that a site's pages share; shorter pages are near-duplicates only if text, title,"
        " images and embedded data are equal.",
    )
    scope: str | Callable[..., str] = _option(
        kinds.callable_or(*SCOPES),
        "all",
        "The pages that a page is compared with: all, or only those with the same host,"
        " registered domain or declared language, or with two of these.",
    )
    detect_language: bool = _option(
        kinds.boolean_or(),
        False,
        "Whether the language of a page is guessed from its text if the page declares none and"
        " NEARDUP_SCOPE uses languages; needs the extra language.",
    )
    hash_key: bytes | None = _option(
        kinds.SECRET,
        None,
        "Secret key of the fingerprints, which keeps others from crafting a page that collides"
        " with another one; None, a random key that the store makes and keeps; public, the"
        " published key, which is also used without a store.",
        is_secret=True,
    )
    store_urls: bool | Literal["hash"] = _option(
        kinds.boolean_or("hash"),
        True,
        "What a store keeps of a page's URL to explain drops: true, the URL without user name"
        " and password; hash, a digest of the URL; false, nothing.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawling(_Checked):
    """The other options of a crawl; the command has only the store and the preset, too."""

    enabled: bool = _option(kinds.boolean_or(), True, "Whether the add-on is active.")
    store: str | None = _option(
        kinds.text("URI"),
        None,
        "URI of the store of fingerprints: memory:, sqlite:PATH, redis://HOST ...",
        is_secret=True,
    )
    namespace: str | None = _option(
        kinds.text("NAME"),
        None,
        "Name of the crawl's part of the store; crawls with the same namespace share their"
        " pages, and other crawls don't see them.",
    )
    expected_pages: int = _option(
        kinds.integer(1),
        1_000_000,
        "Number of pages that the store is designed for; more pages make it slower, but don't"
        " change its answers.",
    )
    retention: float = _option(
        kinds.DURATION,
        0.0,
        "Time after which a store forgets a page if no page has repeated it; 0 keeps pages for"
        " ever.",
    )
    base: str | None = _option(
        kinds.PATH,
        None,
        "Path of a packed file of older pages, which new pages are compared with; the file is"
        " never changed.",
    )
    preset: str = _option(
        kinds.one_of(*PRESETS),
        "best",
        "Set of defaults for other options: best finds candidates by fingerprints and eight"
        " features, and confirms them by 372 bytes that are kept of a page; compact does the"
        " same with three features and 196 bytes; exact drops only equal pages, apart from text"
        " that changes with each response; paper decides by fingerprints alone.",
    )
    action: str = _option(kinds.one_of(*ACTIONS), DROP, "What happens to a near-duplicate.")
    priority_adjust: int = _option(
        kinds.integer(),
        -10,
        "Number that the action deprioritize adds to the priority of requests found on a page"
        " whose content is equal to another's; requests of other near-duplicates get a part of"
        " it, down to 0 at the resemblance that near-duplicates need.",
    )
    deprioritize_from: float = _option(
        kinds.FRACTION,
        1.0,
        "Resemblance from which the requests of kept pages also lose priority, by a part of"
        " NEARDUP_PRIORITY_ADJUST; with 1 they keep it.",
    )
    group_budget: int = _option(
        kinds.integer(1),
        1,
        "Number of pages that are delivered from each group of near-duplicates before the"
        " action applies.",
    )
    deny: Sequence[re.Pattern[str]] = _option(
        kinds.PATTERNS,
        (),
        "Regular expressions; a page isn't judged if one of them matches any part of its URL.",
    )
    prefer: Literal["first", "canonical"] = _option(
        kinds.one_of("first", "canonical"),
        "first",
        "Which of two near-duplicates is delivered: first, the first to arrive; canonical, also"
        " a later one if the first names it as its canonical address.",
    )
    keep_start: bool = _option(
        kinds.boolean_or(),
        True,
        "Whether the pages of start requests are delivered even if they are near-duplicates.",
    )
    start_depth: int = _option(
        kinds.integer(0),
        0,
        "Number of levels below the start requests on which pages are delivered even if they"
        " are near-duplicates.",
    )
    keep_sitemap: bool = _option(
        kinds.boolean_or(),
        True,
        "Whether pages listed in a SitemapSpider's sitemaps are delivered even if they are"
        " near-duplicates.",
    )
    seen: Literal["keep", "drop", "drop-items"] = _option(
        kinds.one_of("keep", "drop", "drop-items"),
        "keep",
        "What happens to a page of an earlier crawl whose content hasn't changed: keep delivers"
        " it; drop drops it with its links; drop-items follows its links and drops its items.",
    )
    on_error: Literal["keep", "close"] = _option(
        kinds.one_of("keep", "close"),
        "keep",
        "What happens if the store fails or takes too long: keep delivers the page unjudged;"
        " close also closes the spider.",
    )
    timeout: float = _option(kinds.seconds(), 5.0, "Seconds that one call to the store may take.")
    pending_timeout: float = _option(
        kinds.seconds(or_zero=True),
        10.0,
        "Seconds that a page waits for the callback of the page that it repeats; 0: no wait.",
    )
    urls: Literal["off", "report", "skip"] = _option(
        kinds.one_of("off", "report", "skip"),
        "report",
        "What a crawl does with claims about URLs, such as '?sid= has no effect', which it"
        " learns from its verdicts: off, nothing; report, log them and count the requests that"
        " they would save; skip, leave out requests whose pages are known by claims in force.",
    )
    urls_explore: float = _option(
        kinds.FRACTION,
        0.05,
        "Share of the requests withheld under a claim that are made anyway to test the claim;"
        " at first the share is higher.",
    )
    pattern_budget: int = _option(
        kinds.integer(0),
        0,
        "Number of pages that a URL pattern such as /calendar/N/N/ may still get after twenty"
        " in a row have brought almost nothing new; 0 for no limit.",
    )
    links: Literal["check", "withhold", "follow"] = _option(
        kinds.one_of("check", "withhold", "follow"),
        "check",
        "What happens to the links of dropped pages: check follows some, and withholds the others"
        " if those led to nothing new; withhold never follows any; follow always does.",
    )
    experiments: float = _option(
        kinds.FRACTION,
        0.02,
        "Share of its requests that a crawl spends on experiments, but at least twenty"
        " requests: it makes some requests twice to see what changes by itself, and follows"
        " links of dropped pages to see whether they lead to new pages; 0 makes no experiments,"
        " and follows the links of dropped pages.",
    )
    probe: bool = _option(
        kinds.boolean_or(),
        False,
        "Whether the crawl asks each host for URLs that can't exist, so that it recognises soft"
        " 404s by their likeness to the answers.",
    )
    audit: str | None = _option(
        kinds.PATH, None, "Path of a file to which every verdict is appended."
    )
    audit_text: bool = _option(
        kinds.boolean_or(), False, "Whether the audit file also holds the judged texts."
    )


def options_of(table: type[_Checked]) -> Mapping[str, Option]:
    """Return the options of `Judging`, `Crawling` or a subclass by name."""
    return {
        each.name: Option(name=each.name, default=each.default, **each.metadata)
        for each in fields(table)
        if each.metadata
    }


OPTIONS: Final[Mapping[str, Option]] = {**options_of(Crawling), **options_of(Judging)}
"""Name -> option of both tables."""
