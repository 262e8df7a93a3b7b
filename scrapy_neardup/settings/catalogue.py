"""Every option once: its name, type, default, permitted values, and help.

An option is one field of `Judging`, if it decides what counts as a near-duplicate, or of
`Crawling`. The ``NEARDUP_*`` settings, the options of the command with their help, the tables of
docs/settings.md and every check are made from these fields. A help text is one sentence that
refers to other options by the names of their settings; docs/settings.md describes each option in
full. docs/quality.md has the measurements behind the defaults.
"""

# ruff: noqa: RUF009  (_option returns what dataclasses.field does)
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from scrapy_neardup.settings import validation as kinds
from scrapy_neardup.settings.validation import ValueKind

View = Literal["main", "full"]
"""Which text of a page is judged."""

Method = Literal["simhash", "minwise", "both"]
Permutations = Literal["one", "independent"]
Titles = Literal["learn", "strict", "ignore"]
Weighting = Literal["set", "tf", "sqrt", "log"]

SCOPES: Final = ("all", "host", "domain", "language", "host+language", "domain+language")
"""Which pages a page is compared with."""

LEARNABLE: Final = ("boilerplate", "changing", "titles", "records")
"""What may be learnt of a site."""

ACTIONS: Final = ("drop", "drop-links", "drop-items", "deprioritize", "flag")
"""What may be done about a near-duplicate."""

DROP, DROP_LINKS, DROP_ITEMS, DEPRIORITIZE, FLAG = ACTIONS

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "best": MappingProxyType({}),
        "compact": MappingProxyType({"features": (3, 6, 1), "sketch": (512, 128)}),
        "exact": MappingProxyType({"min_resemblance": 1.0, "titles": "strict"}),
        "paper": MappingProxyType(
            {"method": "simhash", "min_resemblance": 0.0, "min_tokens": 32, "shingle_size": 3}
        ),
    }
)
"""Name -> values that differ from the defaults of `Judging`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option."""

    name: str
    """As a field: ``max_distance``."""
    kind: ValueKind
    default: Any
    help: str
    """What it does, in a sentence."""
    is_secret: bool
    """Whether messages don't show its value."""

    @property
    def setting(self) -> str:
        """Its name as a setting: ``NEARDUP_MAX_DISTANCE``."""
        return f"NEARDUP_{self.name.upper()}"

    def read(self, value: object) -> Any:
        """Return the checked value; raise a `ConfigurationError` that names the setting."""
        if value is None and self.default is None:
            return None
        return self.kind.read(self.setting, value, is_secret=self.is_secret)


def flag_of(setting: str) -> str:
    """Return the command's option for a setting: ``--max-distance``."""
    return "--" + setting.removeprefix("NEARDUP_").lower().replace("_", "-")


def as_flags(message: str) -> str:
    """Return `message` with options of the command in place of settings.

    After the word "setting" ("the setting NEARDUP_AUDIT") the name stays.
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
    """The options that decide what a near-duplicate is: settings, and options of the command."""

    method: Method = _option(
        kinds.one_of(*get_args(Method)),
        "both",
        "How candidates are found: simhash, fingerprints within NEARDUP_MAX_DISTANCE; minwise,"
        " shared min-wise features; both, either of them, to be confirmed.",
    )
    max_distance: int = _option(
        kinds.integer(0, kinds.MAX_DISTANCE),
        3,
        "Maximum Hamming distance of near-duplicates, in bits.",
    )
    features: tuple[int, int, int] = _option(
        kinds.feature_numbers(),
        (8, 8, 1),
        "Broder's k, s and r: a page has k features of s minima each, and a candidate shares at"
        " least r of them.",
    )
    permutations: Permutations = _option(
        kinds.one_of(*get_args(Permutations)),
        "one",
        "Permutations whose minima the features are made of: one, whose range is cut into bins;"
        " independent, k * s of them, as Broder has them.",
    )
    min_resemblance: float = _option(
        kinds.fraction(),
        0.9,
        "Minimum estimated resemblance of near-duplicates, of their text without boilerplate; 0"
        " confirms nothing.",
    )
    titles: Titles = _option(
        kinds.one_of(*get_args(Titles)),
        "learn",
        "What is required of two pages with different titles: strict, equal texts, where numbers"
        " in titles count; learn, texts that differ at most half as much, where parts of titles"
        " that are the site's own don't count; ignore, nothing more.",
    )
    learn: Sequence[str] = _option(
        kinds.some_of(
            *LEARNABLE, old={"furniture": "boilerplate", "places": "changing", "editions": ""}
        ),
        LEARNABLE,
        "What may be learnt of a site: boilerplate, the text that its pages share; changing, the"
        " parts of its pages that change with each response; titles, the parts of titles that are"
        " the site's own; records, the place that says which job, price or quote a page is.",
    )
    sketch: tuple[int, int] = _option(
        kinds.sketch_numbers(),
        (1792, 256),
        "Bits of the sketches that a store keeps of a page's text, and of its elements that are"
        " named as boilerplate.",
    )
    shingle_size: int = _option(
        kinds.integer(1, 64), 4, "Number of consecutive words in a shingle."
    )
    weights: Weighting | Callable[..., Any] = _option(
        kinds.callable_or(*get_args(Weighting)),
        "set",
        "Weight in the fingerprint of a shingle that occurs c times: set, 1; tf, c; sqrt, the"
        " square root of c; log, 1 + ln c.",
    )
    text: View | Callable[..., str] = _option(
        kinds.callable_or(*get_args(View)),
        "main",
        "Text that is judged: main, what is visible without navigation, page header, footer and"
        " asides; full, all that is visible.",
    )
    ignore: Sequence[str] = _option(
        kinds.texts("CSS"),
        (),
        "CSS selectors of parts of a page that are left out: adverts, counters.",
    )
    min_tokens: int = _option(
        kinds.integer(0, 1_000_000),
        20,
        "Number of words that count (without what the pages of a site share) below which pages are"
        " near-duplicates only if text, title, images and embedded data are equal.",
    )
    scope: str | Callable[..., str] = _option(
        kinds.callable_or(*SCOPES),
        "all",
        "Pages that a page is compared with: all of them, or those of its host, its registered"
        " domain, its declared language, or of two of these.",
    )
    detect_language: bool = _option(
        kinds.boolean_or(),
        False,
        "Whether the language of a page that declares none is guessed from its text, where"
        " NEARDUP_SCOPE is a language; needs the extra language.",
    )
    hash_key: bytes | None = _option(
        kinds.secret_key(),
        None,
        "Secret that fingerprints depend on, so that nobody can craft a page that collides with"
        " another one; None, a random one of the store's own; public, the published one, which"
        " also serves where there is no store.",
        is_secret=True,
    )
    store_urls: bool | Literal["hash"] = _option(
        kinds.boolean_or("hash"),
        True,
        "What a store keeps of a page's URL to explain drops: true, the URL without user name and"
        " password; hash, a digest; false, nothing.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawling(_Checked):
    """The other options of a crawl: settings alone, except for the store and the preset."""

    enabled: bool = _option(
        kinds.boolean_or(), True, "Whether the add-on does anything; False switches it off."
    )
    store: str | None = _option(
        kinds.text("URI"),
        None,
        "URI of the store of fingerprints: memory:, sqlite:PATH, redis://HOST ...",
        is_secret=True,
    )
    namespace: str | None = _option(
        kinds.text("NAME"),
        None,
        "Name of a crawl's part of the store: crawls of one namespace share their pages, and see"
        " no others.",
    )
    expected_pages: int = _option(
        kinds.integer(1),
        1_000_000,
        "Number of pages that the store is sized for; more pages make it slower, not wrong.",
    )
    retention: float = _option(
        kinds.duration(),
        0.0,
        "Time after which a store forgets a page that no page has repeated; 0 keeps pages for"
        " ever.",
    )
    base: str | None = _option(
        kinds.path(),
        None,
        "Path of a packed file of older pages, which is read in place and never changed.",
    )
    preset: str = _option(
        kinds.one_of(*PRESETS),
        "best",
        "Defaults of other options: best finds candidates by fingerprints and by eight min-wise"
        " features and confirms them by sketches of 356 bytes; compact does so with three features"
        " and 180 bytes; exact drops what is equal except for text that changes on each response;"
        " paper decides by fingerprints alone.",
    )
    action: str = _option(kinds.one_of(*ACTIONS), DROP, "What is done about a near-duplicate.")
    priority_adjust: int = _option(
        kinds.integer(),
        -10,
        "Number that the action deprioritize adds to the priority of the requests found on an"
        " exact duplicate; for other near-duplicates a part of it, down to 0 at the resemblance"
        " that near-duplicates need.",
    )
    deprioritize_from: float = _option(
        kinds.fraction(),
        1.0,
        "Resemblance from which kept pages lower the priority of their requests too, by a part of"
        " NEARDUP_PRIORITY_ADJUST; 1: none do.",
    )
    group_budget: int = _option(
        kinds.integer(1),
        1,
        "Number of pages of a group of near-duplicates that are delivered before the action"
        " applies.",
    )
    deny: Sequence[re.Pattern[str]] = _option(
        kinds.patterns(),
        (),
        "Regular expressions; a page isn't judged if one of them is found in its URL.",
    )
    prefer: Literal["first", "canonical"] = _option(
        kinds.one_of("first", "canonical"),
        "first",
        "Which of two near-duplicates is delivered: first, the one that is met first; canonical,"
        " also a later one that the first names as its canonical address.",
    )
    keep_start: bool = _option(
        kinds.boolean_or(),
        True,
        "Whether start requests are delivered even if their pages are near-duplicates.",
    )
    start_depth: int = _option(
        kinds.integer(0),
        0,
        "Number of levels below the start requests whose pages are delivered even if they are"
        " near-duplicates.",
    )
    keep_sitemap: bool = _option(
        kinds.boolean_or(),
        True,
        "Whether the pages that a SitemapSpider's sitemaps list are delivered even if they are"
        " near-duplicates.",
    )
    seen: Literal["keep", "drop", "drop-items"] = _option(
        kinds.one_of("keep", "drop", "drop-items"),
        "keep",
        "What is done about a page of an earlier crawl whose content hasn't changed: keep, it is"
        " delivered; drop, it is dropped with its links; drop-items, its links are followed and"
        " its items dropped.",
    )
    on_error: Literal["keep", "close"] = _option(
        kinds.one_of("keep", "close"),
        "keep",
        "What happens if the store fails or takes too long: keep delivers the page unjudged, close"
        " closes the spider as well.",
    )
    timeout: float = _option(kinds.seconds(), 5.0, "Seconds that one call of the store may take.")
    pending_timeout: float = _option(
        kinds.seconds(or_zero=True),
        10.0,
        "Seconds that a page waits for the callback of the page that it repeats; 0: none.",
    )
    urls: Literal["off", "report", "skip"] = _option(
        kinds.one_of("off", "report", "skip"),
        "report",
        "What is done with claims about URLs (?sid= has no effect), which a crawl learns from its"
        " verdicts: off, nothing; report, the log names them and the requests that they would"
        " save; skip, requests whose page is known by claims in force aren't made.",
    )
    urls_explore: float = _option(
        kinds.fraction(),
        0.05,
        "Share of the requests to be withheld under claims that are made all the same in the long"
        " run, to test the claims; more are at first.",
    )
    pattern_budget: int = _option(
        kinds.integer(0),
        0,
        "Number of pages that a URL pattern (/calendar/N/N/) still gets after twenty in a row"
        " brought next to nothing new; 0: no limit.",
    )
    links: Literal["check", "withhold", "follow"] = _option(
        kinds.one_of("check", "withhold", "follow"),
        "check",
        "What happens to the links of a dropped page: check, they are withheld where following"
        " some of them has shown nothing new; withhold, always; follow, they are followed.",
    )
    experiments: float = _option(
        kinds.fraction(),
        0.02,
        "Share of its requests that a crawl spends on experiments, at least twenty requests: the"
        " same request twice shows what changes by itself, and links of dropped pages whether they"
        " lead to new pages; 0: none, and then the links of dropped pages are followed.",
    )
    probe: bool = _option(
        kinds.boolean_or(),
        False,
        "Whether each host is asked for URLs that can't exist, so that pages like its answers are"
        " recognised as soft 404s.",
    )
    audit: str | None = _option(
        kinds.path(), None, "Path of a file to which every verdict is appended."
    )
    audit_text: bool = _option(
        kinds.boolean_or(), False, "Whether the audit file holds the judged texts as well."
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
