"""Every setting is read, checked, and named where it is wrong."""

import re
import string
from pathlib import Path
from urllib.parse import unquote

import pytest
from crawl_texts import first_heading
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from scrapy_neardup.crawl.component import enabled
from scrapy_neardup.crawl.crawlsettings import read_settings, resolve_namespace
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.settings.catalogue import OPTIONS


def read(**values):
    return read_settings(Settings({f"NEARDUP_{name}": value for name, value in values.items()}))


def test_the_defaults_are_those_of_the_detector():
    assert read().parameters == Parameters()
    assert read(**dict.fromkeys(map(str.upper, OPTIONS))) == read()  # None is unset


@pytest.mark.parametrize(("name", "texts", "value"), [
    ("MAX_DISTANCE", ["3", " 3 "], 3),
    ("SHINGLE_SIZE", ["4"], 4),
    ("MIN_TOKENS", ["0"], 0),
    ("STORE_URLS", ["True", "true", "1", 1], True),
    ("STORE_URLS", ["False", "false", "0", 0], False),
    ("HASH_KEY", ["key", b"key"], b"key"),
    *[(name, [value], value) for name, value in (
        ("STORE_URLS", "hash"), ("TITLES", "strict"), ("SCOPE", "domain"), ("WEIGHTS", "tf"),
        ("SCOPE", "host+language"), ("TEXT", "full"), ("ACTION", "drop-links"),
        ("ON_ERROR", "close"), ("STORE", "redis://u:p@h/0"), ("NAMESPACE", "a b"))],
    ("WEIGHTS", ["crawl_texts.first_heading", first_heading], first_heading),
    ("IGNORE", [["a", "b"], ("a", "b"), '["a", "b"]', "a,b", " a , b ,"], ("a", "b")),
    ("IGNORE", [":is(a, b)", [":is(a, b)"]], (":is(a, b)",)),
    ("IGNORE", ["[data-ad]"], ("[data-ad]",)),
    ("IGNORE", ["", []], ()),
    ("TEXT", ["crawl_texts.first_heading", first_heading], first_heading),
    ("EXPECTED_PAGES", ["1_000", "1000", 1000], 1000),
    ("RETENTION", [0, "0", "0d"], 0),
    ("RETENTION", [90, "90", "90s", "1.5m"], 90),
    ("RETENTION", ["12h", "0.5d"], 12 * 3600),
    ("RETENTION", ["14d", " 2W "], 14 * 86400),
    *[(name, [str(value), value], value) for name, value in (
        ("PRIORITY_ADJUST", -7), ("DEPRIORITIZE_FROM", 0.7), ("GROUP_BUDGET", 3), ("TIMEOUT", 0.5),
        ("PENDING_TIMEOUT", 2.5), ("PENDING_TIMEOUT", 0), ("KEEP_START", False))],
    ("KEEP_START", ["0"], False),
    *[(name, ["a.file", Path("a.file")], "a.file") for name in ("BASE", "AUDIT")],
])  # fmt: skip
def test_a_setting_is_read(name, texts, value):
    for text in texts:
        values = read(**{name: text})
        holder = values.parameters if hasattr(values.parameters, name.lower()) else values
        assert getattr(holder, name.lower()) == value


@pytest.mark.parametrize(("value", "expected"), [
    ("/login,/logout", ["/login", "/logout"]), (r"\d{1,3}$, [,;]", [r"\d{1,3}$", "[,;]"]),
    (r"/a\(,/[)],(?:b|,),\,", [r"/a\(", "/[)]", "(?:b|,)", r"\,"]),
    (["a,b"], ["a,b"]), ('["a,b"]', ["a,b"]), ("12", ["12"]), ('"quoted"', ['"quoted"']), ("", []),
])  # fmt: skip
def test_deny(value, expected):
    assert [pattern.pattern for pattern in read(DENY=value).deny] == expected


@given(st.lists(st.text(alphabet="ab{}[]()\\d, ", min_size=1, max_size=6), max_size=3))
def test_a_list_is_taken_as_it_is(entries):
    assert read(IGNORE=entries).parameters.ignore == tuple(entries)


WRONG = [
    *[(name, "yes", "True or False") for name in (
        "ENABLED", "DETECT_LANGUAGE", "PROBE", "AUDIT_TEXT", "KEEP_START", "KEEP_SITEMAP")],
    *[(name, 2, "True or False") for name in ("KEEP_START", "KEEP_SITEMAP")],
    *[("STORE", wrong, "a non-empty string") for wrong in ("", 5)],
    ("NAMESPACE", "", "a non-empty string"),
    ("PERMUTATIONS", "two", "'one' or 'independent'"),
    ("PRESET", "fast", "'best', 'compact', 'exact' or 'paper'"),
    ("METHOD", "shingles", "'simhash', 'minwise' or 'both'"),
    ("MIN_RESEMBLANCE", 0, "NEARDUP_MIN_RESEMBLANCE"),
    ("MIN_RESEMBLANCE", 90, "a number from 0 to 1"),
    *[("FEATURES", wrong, "three numbers K,S,R such as '6,14,2'") for wrong in ("many", "6,14,7")],
    *[("SKETCH", wrong, "TEXTxNAMED such as '1792x256'") for wrong in ("1024 bins", "1000x2")],
    ("PREFER", "last", "'first' or 'canonical'"),
    *[("EXPECTED_PAGES", wrong, "a whole number, 1 or more") for wrong in (0, "many")],
    *[("RETENTION", wrong, "0 or a time such as 3600, '90s', '45m', '12h', '30d' or '2w'")
      for wrong in ("", "d", "30 days", "-1d", 0.5, "nan", "inf", "1e999w", True, [])],
    *[("MAX_DISTANCE", wrong, "a whole number") for wrong in ("three", 3.5, True)],
    *[("MAX_DISTANCE", wrong, "0 to 10") for wrong in (11, -1)],
    ("ACTION", "remove", "'drop', 'drop-links', 'drop-items', 'deprioritize' or 'flag'"),
    ("PRIORITY_ADJUST", "low", "a whole number"),
    ("DEPRIORITIZE_FROM", 1.1, "a number from 0 to 1"),
    ("GROUP_BUDGET", 0, "a whole number, 1 or more"),
    ("START_DEPTH", -1, "a whole number, 0 or more"),
    ("SHINGLE_SIZE", 0, "1 to 64"),
    ("WEIGHTS", "idf", "'set', 'tf', 'sqrt', 'log', a callable, or the dotted path of one"),
    ("TEXT", "mian", ", a callable, or the dotted path of one"),
    ("TEXT", "no.such.place", "No module named 'no'"),
    ("TEXT", "crawl_texts.missing", "has no attribute 'missing'"),
    ("TEXT", "crawl_texts.__name__", "a callable"),
    *[("IGNORE", wrong, "a list of strings") for wrong in (5, [5])],
    ("MIN_TOKENS", -1, "0 to 1000000"),
    ("TITLES", "loose", "'learn', 'strict' or 'ignore'"),
    ("LEARN", ["habits"], "a list of 'boilerplate', "),
    ("SCOPE", "site", "'all', 'host', 'domain', 'language',"),
    ("DENY", ["("], "unterminated subpattern"),
    *[("DENY", [wrong], "a list of regular expressions") for wrong in (5, re.compile(b"x"))],
    ("HASH_KEY", "", "a non-empty string or bytes"),
    ("STORE_URLS", "no", "True, False or 'hash'"),
    ("ON_ERROR", "stop", "'keep' or 'close'"),
    ("URLS", "yes", "'off', 'report' or 'skip'"),
    ("SEEN", "forget", "'keep', 'drop' or 'drop-items'"),
    ("PATTERN_BUDGET", -1, "0 or more"),
    ("LINKS", "maybe", "'check', 'withhold' or 'follow'"),
    *[(name, 5, "a number from 0 to 1") for name in ("URLS_EXPLORE", "EXPERIMENTS")],
    *[("TIMEOUT", wrong, "a number of seconds above 0") for wrong in (0, "inf", "nan", True)],
    *[("PENDING_TIMEOUT", wrong, "0 or a number of seconds") for wrong in (-1, False)],
    *[(name, "", "the path of a file") for name in ("BASE", "AUDIT")],
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "wanted"), WRONG)
def test_a_wrong_value_is_named_with_what_would_be_right(name, value, wanted):
    with pytest.raises(ConfigurationError) as caught:
        read(**{name: value})
    message = str(caught.value)
    assert f"NEARDUP_{name}" in message
    assert wanted in message


def test_a_callable_whose_module_fails_is_a_wrong_value(tmp_path, monkeypatch):
    (tmp_path / "failing_texts.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r"NEARDUP_TEXT must be .*division by zero"):
        read(TEXT="failing_texts.read")


def test_there_is_a_wrong_value_for_every_setting():
    assert {name for name, _, _ in WRONG} == {name.upper() for name in OPTIONS}


@pytest.mark.parametrize("name", ["STORE", "HASH_KEY"])
def test_secrets_are_not_shown(name):
    with pytest.raises(ConfigurationError) as caught:
        read(**{name: ["secret"]})
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"not ''$"):
        read(**{name: ""})


def test_audit_text_needs_an_audit():
    with pytest.raises(ConfigurationError, match="set NEARDUP_AUDIT to its path"):
        read(AUDIT_TEXT=True)
    assert read(AUDIT_TEXT="1", AUDIT="a").audit_text


@pytest.mark.parametrize(("name", "hint"), [
    ("MAX_DISTANCES", r"did you mean NEARDUP_MAX_DISTANCE\?"),
    ("STOER", r"did you mean NEARDUP_STORE\?"),
    ("XYZZY", "docs/settings.md"),
    ("NUMBERS", "is not a setting"),
])  # fmt: skip
def test_an_unknown_setting_is_refused(name, hint):
    with pytest.raises(ConfigurationError, match=f"NEARDUP_{name} .*{hint}"):
        read(**{name: 1})


@pytest.mark.parametrize(("value", "on"), [
    (None, True), (True, True), ("1", True), ("False", False), (0, False)
])  # fmt: skip
def test_enabled(value, on):
    assert enabled(Settings({"NEARDUP_ENABLED": value})) is on


def name_of(template, spider="spider"):
    return resolve_namespace(template, bot="bot", spider=spider, now="2026-01-31T00-00-00")


def test_namespaces():
    assert name_of(None) == "bot.spider"
    assert name_of(None, spider="ü/%(time)s") == "bot.%C3%BC%2F%25%28time%29s"
    assert name_of("news-%(time)s") == "news-2026-01-31T00-00-00"
    assert name_of("100%") == "100%25"
    for wrong in ("%(name)s", "%(time)d", "%(time"):
        with pytest.raises(ConfigurationError, match=re.escape("NEARDUP_NAMESPACE")):
            name_of(wrong)


@given(st.text(min_size=1).filter(lambda text: "%(" not in text))
def test_a_namespace_is_made_of_safe_characters_and_stays_distinct(text):
    encoded = name_of(text)
    assert set(encoded) <= set(string.ascii_letters + string.digits + "._-%")
    assert unquote(encoded) == text


def test_a_preset_sets_defaults_and_a_setting_overrides_it():
    best = read(PRESET="best").parameters
    assert (best.method, best.min_resemblance, best.shingle_size) == ("both", 0.9, 4)
    other = read(PRESET="best", METHOD="minwise", FEATURES="6,14,2", SKETCH="1344x192").parameters
    assert (other.method, other.features, other.sketch) == ("minwise", (6, 14, 2), (1344, 192))
    assert (other.min_resemblance, other.shingle_size) == (0.9, 4)
    assert read().parameters == Parameters()
