"""Kinds of made-up pages, listed in plain text, and what makes pages of them.

A kind is a name, options in brackets and a description, continued by two spaces; and, by four
spaces, how its pages are made: values that all of them share, a line ``for ... in ...`` as in a
comprehension, values of one page, and pages as ``PATH :: TITLE :: BODY``, perhaps with ``:: NAME=
VALUE``. Six spaces continue a line; a second ``for`` makes pages of another form::

    menus (titles=OWN_OR_COMMON): Restaurants: 100 common words, and 20 dishes in <ul class=menu>,
      under {titles} titles: none may be lost.
        common = paragraphs(100)
        for number in range(50)
        title = heading() if titles == "own" else "Our menu"
        /restaurants/{number} :: {title} :: ^{common}<ul class="menu">...

Values and the loop may share a line, with semicolons between them. Pages are f-strings over these
values and the words of the site; one expression in braces stays what it is, and need not be text.
The body of a page is drawn first, then path, title and the rest; ``^`` in it is the title as a
heading. A page ``:: BODY`` is a response to the request `it`, which knows path and title; another
response is drawn as well. Other pages have one where they name it: ``:: again=BODY``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from types import CodeType
from typing import Any

_HEAD = re.compile(r"(?s)([\w-]+)(?: \((.*?)\))?: (.*)")
_LOOP = re.compile(r"for (?!.*: )")
_END = re.compile(r"(?<!&gt); ")
_ONE_EXPRESSION = re.compile(r"\{([^{}]*)\}")

_BODIES = {"body", "again"}

Words = dict[str, Any]
"""What the lines of a kind may name."""


@dataclass
class Block:
    name: str
    options: Words
    says: str
    lines: list[str] = field(default_factory=list)

    def variants(self, plain: tuple[str, ...]) -> Iterator[tuple[str, str, Words]]:
        several = {key: each for key, each in self.options.items() if key not in plain}
        for values in product(*several.values()):
            chosen = dict(zip(several, values, strict=True))
            says = self.says.format(**chosen) if chosen else self.says
            yield "-".join([self.name, *map(str, values)]), says, chosen

    def pages(self, words: Words) -> Iterator[Words]:
        words = dict(words)
        loops = [at for at, line in enumerate(self.lines) if _LOOP.match(line)]
        for line in self.lines[: loops[0]]:
            exec(_compiled(line, "exec"), words)
        for start, end in pairwise([*loops, len(self.lines)]):
            loop = _compiled(f"(locals().copy() {self.lines[start]})", "eval")
            for found in eval(loop, words):
                names = words | found
                lines = self.lines[start + 1 : end]
                again = list(self._again(lines, words, names)) if "it" in names else []
                for number, page in enumerate(_pages(lines, names)):
                    yield (page | {"again": again[number]["body"]}) if again else page

    @staticmethod
    def _again(lines: list[str], words: Words, names: Words) -> Iterator[Words]:
        """Yield the pages of another response to the same request; chance goes on as without."""
        chance = words["chance"]
        state = chance.getstate()
        chance.seed(chance.random())
        yield from _pages(lines, _copied(names))
        chance.setstate(state)


def read(path: Path, words: Words) -> Iterator[Block]:
    for text in re.split(r"\n(?=\S)", path.read_text(encoding="utf-8").strip()):
        head, *made = re.split(r"\n {4}(?! )", text)
        name, options, says = _HEAD.fullmatch(" ".join(head.split())).groups()
        made = [re.sub(r"\n {6}", "" if ":: " in line else " ", line) for line in made]
        lines = [part for line in made for part in ([line] if ":: " in line else _END.split(line))]
        yield Block(name, eval(f"dict({options or ''})", words), says, lines)


def _copied(names: Words) -> Words:
    return {name: [*each] if isinstance(each, list) else each for name, each in names.items()}


def _pages(lines: list[str], names: Words) -> Iterator[Words]:
    for line in lines:
        if ":: " in line:
            yield _page(line, names)
        else:
            exec(_compiled(line, "exec"), names)


def _page(line: str, names: Words) -> Words:
    path, *fields = re.split(r" ?:: ", line)
    if not path:
        request = {key: value for key, value in names["it"]._asdict().items() if key != "html"}
        return request | {"body": _value(fields[0], names)}
    title, body, *rest = fields
    values = {"body": body, "path": path, "title": title}
    values |= (part.split("=", 1) for part in rest)
    for key in _BODIES & values.keys():
        values[key] = values[key].replace("^", f"<h1>{title}</h1>")
    return {key: _value(each, names) for key, each in values.items()}


def _value(text: str, names: Words) -> Any:
    if one := _ONE_EXPRESSION.fullmatch(text):
        return eval(_compiled(one[1], "eval"), names)
    return eval(_compiled(f"f'''{text}'''", "eval"), names) if "{" in text else text


_codes: dict[str, CodeType] = {}


def _compiled(text: str, mode: str) -> CodeType:
    if text not in _codes:
        _codes[text] = compile(text, f"<{text}>", mode)
    return _codes[text]
