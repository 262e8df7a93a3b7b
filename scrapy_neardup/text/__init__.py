"""HTML to visible text to tokens: lxml, and neither Scrapy nor any input or output."""

from scrapy_neardup.text.content import Content, Extractor
from scrapy_neardup.text.links import count_links
from scrapy_neardup.text.parse import looks_like_html, lost_content, parse_html
from scrapy_neardup.text.tokens import normalize, normalized_chunks

__all__ = [
    "Content",
    "Extractor",
    "count_links",
    "looks_like_html",
    "lost_content",
    "normalize",
    "normalized_chunks",
    "parse_html",
]
