"""HTML to visible text to tokens, with lxml alone: no Scrapy, no input or output."""

from scrapy_neardup.settings.catalogue import View
from scrapy_neardup.text.blocks import Block, Blocks, Form
from scrapy_neardup.text.content import OMITTED, Content, Extractor, link_targets
from scrapy_neardup.text.parse import check_text, check_tree, parse_html
from scrapy_neardup.text.tokens import normalize, normalized_chunks

__all__ = [
    "OMITTED",
    "Block",
    "Blocks",
    "Content",
    "Extractor",
    "Form",
    "View",
    "check_text",
    "check_tree",
    "link_targets",
    "normalize",
    "normalized_chunks",
    "parse_html",
]
