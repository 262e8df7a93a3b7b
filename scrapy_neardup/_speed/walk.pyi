from types import ModuleType

from lxml.html import HtmlElement

from scrapy_neardup.text.blocks import Walked

BUILT_WITH: str

def set_up(tags: ModuleType, walk: ModuleType) -> None: ...
def walk(root: HtmlElement, *, boilerplate: bool) -> Walked | None: ...
def is_laid_out_as_built(parent: HtmlElement, first: HtmlElement, second: HtmlElement) -> bool: ...
