"""What a word is: one decided outcome for each kind of character."""

# ruff: noqa: RUF001  (letters that look alike are the point)
import re
import unicodedata

import pytest
import reference_simhash as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_neardup.text import normalize, normalized_chunks
from scrapy_neardup.text.tokens import composed, has_tokens


def words(text):
    return normalize(text).decode().split()


@pytest.mark.parametrize(("text", "expected"), [
    ("", []),
    ("Hello, World!", ["hello", "world"]),
    ("it's 3.14, 50%", ["it", "s", "3", "14", "50", "%"]),
    # signs that touch a word
    ("-5/5 5/5", ["-", "5", "5", "5", "5"]),
    ("A+ A- C++ C# C", ["a", "+", "a", "-", "c", "++", "c", "#", "c"]),
    ("a-b a+b $5 a<b x->y --all", [
        *"ab", *"a+b", "$", "5", *"a<b", "x", "->", "y", "--", "all"]),
    ("- a | b * c == - =", [*"abc", "="]),
    ("5 + 3 = 8", list("5+3=8")),
    ("é-é é+ 字-字 (+)", ["é", "é", "é", "+", "字", "字", "+"]),
    ("a\u00ad-\u00adb +\u00ad+c", ["a", "b", "++", "c"]),
    # symbols
    ("★★☆ ✔✘", list("★★☆✔✘")),
    ("\U0001f44d\U0001f3fd", ["\U0001f44d", "\U0001f3fd"]),
    ("\U0001f1e9\U0001f1ea", ["\U0001f1e9", "\U0001f1ea"]),
    ("−5\u202fµm 5\u2030 100％", ["−", "5", "µm", "5", "\u2030", "100", "％"]),
    ("──│x│──", ["x"]),
    ("snake_case ____ CamelCase", ["snake_case", "____", "camelcase"]),
    ("tab\tline\nnul\0page\f\x1funit", ["tab", "line", "nul", "page", "unit"]),
    ("no\u00a0break thin\u2009space", ["no", "break", "thin", "space"]),
    ("m\u00b2 \u00bd \u2460", ["m\u00b2", "\u00bd", "\u2460"]),
    ("\u20ac5 a\u2014b \u2190", ["\u20ac", "5", "a", "b", "\u2190"]),
    # Han, Hiragana, Katakana: every letter; a word among them is one token
    ("漢字かなカナ", list("漢字かなカナ")),
    ("第12章abc版v2", ["第", "12", "章", "abc", "版", "v2"]),
    ("データ々〇", list("データ々〇")),
    ("ﾊﾟ", ["ﾊ", "ﾟ"]),  # half-width: the mark is a letter of its own
    ("か\u3099\u0301き", ["が\u0301", "き"]),  # a mark stays with its base
    ("𠀀𠮷\U00030000", ["𠀀", "𠮷", "\U00030000"]),  # beyond the BMP
    ("。、「」・", []),
    # Thai, Lao, Khmer, Burmese: every letter, with its vowel signs and tones
    ("ที่นี่", ["ที่", "นี่"]),
    ("ກິນ", ["ກິ", "ນ"]),
    ("កាត", ["កា", "ត"]),
    # scripts with spaces have words
    ("동해 물과", ["동해", "물과"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("ትግርኛ ቋንቋ", ["ትግርኛ", "ቋንቋ"]),
    # from right to left
    ("שָׁלוֹם\u200f עולם\u200e", ["שָׁלוֹם", "עולם"]),
    ("\u202bمرحبا\u202c بالعالم", ["مرحبا", "بالعالم"]),
    ("٣٤٥", ["٣٤٥"]),
    ("می\u200cخواهم", ["میخواهم"]),  # zero-width non-joiner
])  # fmt: skip
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    "invisible", "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff\ufe0f\u061c\U000e0001"
)
def test_invisible_characters_part_nothing(invisible):
    assert words(f"in{invisible}side {invisible} a") == ["inside", "a"]


@pytest.mark.parametrize("other", "\u200b\u2028\ue000\ufffd\ud800\U000f0000\u2500")
def test_others_part_words(other):
    assert words(f"in{other}side {other} a") == ["in", "side", "a"]


@pytest.mark.parametrize(("one", "other"), [
    ("é", "e\u0301"), ("ệ", "e\u0323\u0302"), ("ệ", "e\u0302\u0323"), ("Å", "\u212b"),
    ("각", "\u1100\u1161\u11a8"), ("豈", "\uf900"),
    ("ΟΔΟΣ", "οδος"), ("οδοσ", "οδος"), ("İ", "i"), ("ǅ", "ǆ"), ("ЁЖ", "ёж"), ("𐐀", "𐐨"),
])  # fmt: skip
def test_the_same_word(one, other):
    assert words(one) == words(other) == words(f" {one}.")


@pytest.mark.parametrize(("one", "other"), [("ß", "ss"), ("ﬁ", "fi"), ("Ａ", "A"), ("ı", "i")])
def test_compatible_is_not_the_same(one, other):
    assert words(one) != words(other)


def test_unassigned_characters_are_letters_but_for_symbols():
    """Later versions of Unicode will assign them, most as letters."""
    assert words("a\u0378b") == ["a\u0378b"]
    assert words("a\u2fe0b") == ["a\u2fe0b"]
    assert words("a\u206fb\u2e7fc") == ["ab", "c"]  # in a block of punctuation
    assert words("a\U0001fbffb") == ["a", "\U0001fbff", "b"]


@pytest.mark.parametrize(("text", "expected"), [
    ("It's (A), 5.0\u2026", ["It", "'", "s", "(", "A", ")", ",", "5", ".", "0", "\u2026"]),
    ("a-b - C++", ["a", "-", "b", "-", "C", "+", "+"]),
    ("in\u00adside\u00a0\u200bx\ufe0f", ["inside", "x"]),
    ("e\u0301 ── 第1章。", ["é", "─", "─", "第", "1", "章", "。"]),
    ("_a_\ue000", ["_a_", "\ue000"]),
    ("\U00020000!\U000e0001", ["\U00020000", "!"]),
])  # fmt: skip
def test_every_character(text, expected):
    assert b"".join(normalized_chunks(text, every=True)).decode().split() == expected


@settings(max_examples=30)
@given(st.text(alphabet="ab é\u0301漢\u200b.+-\u2605\n", max_size=30), st.integers(1, 5))
def test_chunks_are_the_whole(text, repeats):
    """Also where a text is so long that it is read in chunks."""
    part, filling = text + "é", "x" * 100_000
    long = f"{part} {filling}\n" * repeats
    assert len(list(normalized_chunks(long))) >= repeats // 2
    assert words(long) == [*reference.tokens(part), filling] * repeats


def test_chunks_are_bounded_and_a_long_text_without_spaces_is_read():
    for text in ("Ein schöner Satz. " * 50_000, "plain words " * 50_000):
        sizes = [len(chunk) for chunk in normalized_chunks(text)]
        assert max(sizes) < 200_000
    assert len(list(normalized_chunks("Ein schöner Satz. " * 50_000))) > 5
    text = "漢字" * 200_000 + "é" * 200_000
    assert words(text) == [*"漢字" * 200_000, "é" * 200_000]


@given(
    st.lists(st.text(alphabet="ab.é漢\u0301+-\u2014 ", max_size=200), max_size=3),
    st.integers(1, 8),
)
def test_has_tokens(texts, minimum):
    assert has_tokens(texts, minimum) == (len(words("\n".join(texts))) >= minimum)


@given(st.text("aé\u0301\u0316\u034f가\u2208\u0338 ", max_size=200))
def test_text_is_brought_to_nfc(text):
    longest = max(map(len, re.findall("[\u0301\u0316\u0338]+", text)), default=0)
    if longest <= 30:
        assert composed(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("count", [30, 31, 61, 1000])
def test_each_of_many_marks_is_read(count):
    marks = "\u0301\u0316" * count
    assert sorted(composed("x" + marks)) == sorted("x" + marks)
    assert composed("\u2500" * count + "e\u0301") == "\u2500" * count + "é"
