"""Trees that nobody wrote on purpose: from broken HTML, from XML, and built node by node."""

import random
import string

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from scrapy_neardup.errors import InputError
from scrapy_neardup.text import parse_html
from scrapy_neardup.text.tags import KINDS, SOURCES

TAGS = sorted({
    *KINDS, "dd", "div", "dt", "form", "head", "li", "option", "path", "section", "td", "ul",
    "use", "x-y",
})  # fmt: skip
XML_TAGS = [*TAGS, "{http://www.w3.org/1999/xhtml}div", "{http://www.w3.org/2000/svg}svg"]
ATTRIBUTES = [
    "class", "id", "role", "href", "src", "type", "width", "height", "lang", "shadowrootmode",
    "content", "style", "d", "fill",
    *(name for name in SOURCES if ":" not in name),
]  # fmt: skip
XML_ATTRIBUTES = [
    *ATTRIBUTES, "{http://www.w3.org/1999/xlink}href", "{urn:x}class",
    "{http://www.w3.org/XML/1998/namespace}lang",
]  # fmt: skip
VALUES = [
    "", "nav", "ad-slot 12", "footer", "x\u00a0y", "\u2003nav\u3000", "é" * 199 + "-ad",
    "中" * 300, "1", " 0 ", "banner", "BANNER x", "none", "application/JSON", "open", "data:x",
    "31", "\u0661", "url(#a)",
    "../a.png?_=1#f", "a 1x, b 2x", "\u1680", "\u2028", "\u202f\u205f", "\u212a", "İ", "😀" * 201,
]  # fmt: skip
ALPHABETS = [
    string.ascii_lowercase + " ",
    "0123456789: -",
    " \n\t\r\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\u0085",
    "ß中あ\u0e31\u0301\u200b\u200d\u00ad\U0001f600\U0002f800\U000e0100 ",
]
BITS = [
    "<!--", "-->", "<![CDATA[", "]]>", "<?pi ", "?>", "&amp;", "&#0;", "&#xD800;", "&#x1F;",
    "&#xFFFE;", "&nope;", "\0", "\x0b", "\x7f", "\ud800", "<!DOCTYPE html>", "<",
    "window.__A__ = {", "initialState = [",
]  # fmt: skip
LONG, DEEP = 10_000_000, 1_000
"""Characters of a long attribute or text; open elements of a deep tree."""


def words(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return chance.choice(VALUES)
    return "".join(chance.choices(chance.choice(ALPHABETS), k=chance.randrange(60)))


def built(chance: random.Random) -> HtmlElement:
    """Return a root, or any other element, of a tree that was built node by node."""
    is_html = chance.random() < 0.5
    make = HTMLParser().makeelement if is_html else etree.Element
    tags, attributes = (TAGS, ATTRIBUTES) if chance.random() < 0.8 else (XML_TAGS, XML_ATTRIBUTES)
    nodes = [make("html")]
    for _ in range(chance.randrange(80)):
        parent = chance.choice(nodes[-3:] if chance.random() < 0.7 else nodes)
        kind = chance.random()
        if kind < 0.08:
            parent.append(etree.Comment(words(chance).replace("-", "")))
        elif kind < 0.12:
            parent.append(etree.ProcessingInstruction("pi", "x"))
        elif kind < 0.13:
            parent.append(etree.Entity("amp"))
        else:
            parent.append(make(chance.choice(tags)))
            nodes.append(parent[-1])
            for _ in range(chance.randrange(4)):
                nodes[-1].set(chance.choice(attributes), words(chance))
            text = words(chance)
            nodes[-1].text = etree.CDATA(text) if chance.random() < 0.1 else text
        if chance.random() < 0.6:
            parent[-1].tail = words(chance)
    root = chance.choice(nodes) if chance.random() < 0.3 else nodes[0]
    if chance.random() < 0.1 and root.getparent() is not None:
        root.getparent().remove(root)
    return root


def soup(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.randrange(1, 60)):
        kind = chance.random()
        if kind < 0.5:
            parts += ["<", chance.choice(TAGS)]
            for _ in range(chance.randrange(4)):
                parts += [" ", chance.choice(ATTRIBUTES), chance.choice(["=", '="', ""])]
                parts += [words(chance), chance.choice(["", '"'])]
            parts.append(chance.choice([">", ">", "/>", ""]))
        elif kind < 0.65:
            parts.append(f"</{chance.choice(TAGS)}>")
        else:
            parts.append(chance.choice(BITS) if kind < 0.7 else words(chance))
    if chance.random() < 0.03:
        parts.insert(0, f"<{chance.choice(TAGS)} class=x>" * chance.choice([300, DEEP]))
    return "".join(parts)


def from_html(chance: random.Random) -> HtmlElement:
    html = soup(chance)
    if chance.random() < 0.02:
        unit = chance.choice(["n", "nav ", "é", "1"]) * LONG
        html += f"<div {chance.choice(ATTRIBUTES)}='{unit[:LONG]}'>{words(chance)}"
    return parse_html(html)


def from_xml(chance: random.Random) -> HtmlElement:
    body = etree.tostring(built(chance), with_tail=False).decode()
    if chance.random() < 0.5:
        types = "<!ENTITY e 'x<b>y</b>'><!ATTLIST div class CDATA 'nav'><!ATTLIST p id CDATA 'ad'>"
        body = f"<!DOCTYPE html [{types}]>" + body.replace(" ", "&e;", 1)
    flags = "resolve_entities", "attribute_defaults", "strip_cdata"
    drawn = {flag: chance.random() < 0.5 for flag in flags}
    parser = etree.XMLParser(recover=True, huge_tree=True, **drawn)
    return etree.fromstring(body.encode(), parser)


def hostile_tree(seed: int) -> tuple[HtmlElement, bool] | None:
    """Return a tree, and whether HTML alone made it; None where nothing was to be parsed."""
    chance = random.Random(seed)
    make = chance.choices([built, from_html, from_xml], [40, 45, 15])[0]
    try:
        root = make(chance)
    except (InputError, etree.XMLSyntaxError):
        return None
    return None if root is None else (root, make is from_html)
