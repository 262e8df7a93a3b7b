"""Sentences of several hundred characters, and encodings that web pages in them have had."""

from pathlib import Path

LINES = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
SENTENCES = dict(line.split("\t") for line in LINES)
ENCODINGS = [
    ("ja", "shift_jis"), ("ja", "euc_jp"), ("ru", "cp1251"), ("ru", "koi8_r"), ("ko", "euc_kr"),
    ("zh", "gbk"), ("zh", "gb2312"), ("zh-tw", "big5"), ("el", "cp1253"), ("he", "cp1255"),
    ("ar", "cp1256"), *((language, "cp1252") for language in ("fr", "de", "es", "sv", "en")),
]  # fmt: skip


def page_of(language):
    sentences = SENTENCES[language]
    return (
        f"<!DOCTYPE html><html><head><title>{sentences[:20]}</title>"
        "<script>var a = 1; function f(x) { return x + a }</script></head><body>"
        '<ul class="nav"><li><a href="/">Home</a></li><li><a href="/about">About</a></li></ul>'
        f"<h1>{sentences[:12]}</h1><p>{sentences}</p><p>{sentences[::-1]}</p></body></html>"
    )
