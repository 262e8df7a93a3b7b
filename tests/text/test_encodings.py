"""Pages that don't say how they are encoded."""
# ruff: noqa: RUF001

import pytest
from undeclared_pages import ENCODINGS, SENTENCES, page_of

from scrapy_neardup.text import Extractor, parse_html
from scrapy_neardup.text.encoding import declares_encoding, guess_encoding


def text_of(body):
    return Extractor("full").extract(parse_html(body)).text


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
def test_a_page_has_the_text_of_its_copy_in_utf_8(language, encoding):
    page = page_of(language)
    assert text_of(page.encode(encoding)) == text_of(page.encode())


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6])
def test_a_hundred_characters_are_enough(language, encoding, place):
    sentences = SENTENCES[language]
    start = int(len(sentences) * place)
    page = f"<title>A page</title><p>{sentences[start : start + 100]}</p>"
    assert text_of(page.encode(encoding)) == text_of(page.encode())


@pytest.mark.parametrize("page", [
    "<p>Voilà l’été", "<p>CRÈME BRÛLÉE, «À LA CARTE»", "<p>Über ÄÖÜ" * 20, "<p>©®™†",
    "<pre>" + "¬" * 200 + "···· §§§§" * 50,
])  # fmt: skip
def test_what_stands_alone_in_a_western_page_is_windows_1252(page):
    assert guess_encoding(page.encode("cp1252")) == "cp1252"


@pytest.mark.parametrize("language", ["ja", "ru", "fr"])
def test_what_is_declared_or_utf_8_is_not_guessed(language):
    page = page_of(language)
    assert guess_encoding(page.encode()) == "utf-8"
    declared = f"<meta charset=koi8-r>{page}".encode("koi8-r", "ignore")
    assert text_of(declared) == text_of(declared.decode("koi8-r"))


def test_what_declares_an_encoding():
    assert declares_encoding(b"<p>", "text/html; charset=koi8-r")
    assert declares_encoding(b"\xef\xbb\xbf<p>")
    assert declares_encoding(b"<meta charset=koi8-r><p>", "text/html")
    assert not declares_encoding(b"<p>", "text/html")
    assert not declares_encoding(b"<meta charset=no-such-thing><p>", "text/html; charset=none")


@pytest.mark.parametrize(("language", "encoding"), ENCODINGS)
def test_a_page_of_two_megabytes_is_guessed_from_a_part(language, encoding):
    sentences = SENTENCES[language].encode(encoding)
    body = b"<p>" + b"</p><p>".join([sentences] * (2_000_000 // len(sentences)))
    assert body.decode(guess_encoding(body)) == body.decode(encoding)


def test_no_characters_of_other_scripts_are_cut_in_two_at_the_end_of_a_part():
    for more in range(8):
        body = ("<p>" + "x" * more + SENTENCES["ja"] * 100 + "</p>").encode("shift_jis")
        assert body.decode(guess_encoding(body)) == body.decode("shift_jis")
