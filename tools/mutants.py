"""Break the package in one place at a time, and see whether its tests notice.

``make mutants`` takes `SAMPLE` places of the rooms in `TESTS` at random (``--seed``), changes each
in a copy of the repository, and runs the tests that `TESTS` names for that module until one fails.
What no test notices is printed, except for what `explained_mutants` names.

``python tools/mutants.py --seed 7 --sample 50 crawl/pending stores/redis`` takes only modules
whose path begins so; ``crawl/pending.py:14`` lines 14 and 140 to 149; ``--list`` prints the
places. Exit status: 0 if at least `ENOUGH` were noticed.

A place is an operator, a comparison, a condition, a small number, a truth value, or a statement
that can be left out; in Lua the same. No place: annotations, decorators, what is logged, messages,
and numbers at the top of a module, as tests don't hold what was tuned (``make bench`` does).
"""

# ruff: noqa: INP001, T201  (a script)

from __future__ import annotations

import argparse
import ast
import contextlib
import itertools
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import lxml.html  # noqa: F401  (of what all tests import, processes are forked with it)
import numpy as np  # noqa: F401
import pytest
import scrapy.http
import scrapy.linkextractors  # noqa: F401
from explained_mutants import EXPLAINED

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = "scrapy_neardup"
SAMPLE, ENOUGH = 300, 0.92
HANGS, SECONDS = 120, 900
"""Seconds after which one test, and all tests of a module, have noticed something."""

CRAWL = "tests/crawl/test_"
STORES = "tests/stores/test_"
TESTS = {
    "claims": "tests/claims {c}reporting {c}url_rules {c}claims_tested {c}links "
    "{c}patternwarnings",
    "judge": "tests/judge tests/text/test_months.py {c}worlds {c}refetch {c}identity "
    "{c}same_verdicts tests/cli/test_scan.py",
    "stores": "{s}open_store {s}keys {s}store_secrets {s}behaviour "
    "tests/cli/test_stats_and_clear.py {s}model {s}retention {s}features {s}floods",
    "stores/embedded": "{s}rowmap {s}embedded {s}notices {s}behaviour {s}model "
    "{s}features {s}retention {s}floods",
    "stores/pack": "{s}packfile {s}layered {c}base",
    "stores/redis": "{s}keys {s}redis_shared {s}redis_layout {s}redis_exact {s}redis_questions "
    "{s}behaviour {s}redis_faults {s}redis_reached {s}redis_background {s}notices {s}model "
    "{s}features {s}retention {s}floods",
    "stores/redis/uri": "{s}store_secrets {s}open_store {s}redis_reached",
    "stores/redis/redis_admin": "tests/cli/test_stats_and_clear.py",
    **dict.fromkeys(
        [
            "stores/redis/cluster",
            *(f"stores/redis/lua/{name}" for name in ("announce", "commit")),
        ],
        "{s}redis_rivals {s}cluster_matching {s}redis_shared {s}behaviour "
        "{s}redis_cluster {s}redis_faults {s}model {s}features {s}retention",
    ),
    "stores/sqlite": "{s}sqlite {s}write_behind {s}behaviour "
    "{s}sqlite_damage {s}retention {s}features {s}model tests/cli/test_stats_and_clear.py "
    "tests/cli/test_changes.py",
    "crawl": "{c}start {c}settings {c}life {c}actions {c}waiting {c}eligibility {c}seen "
    "{c}store_failures {c}broken_starts {c}score {c}errbacks {c}budget",
    "crawl/audit": "tests/report/test_audit.py {c}audit {c}waiting {c}life {c}url_rules",
    "crawl/callbacks": "{c}callbacks {c}actions {c}life {c}seen",
    "crawl/circuitbreaker": "{c}guard {c}store_failures",
    "crawl/middlewares": "{c}start {c}life {c}actions {c}base {c}pattern_budget {c}url_rules "
    "{c}claims_tested",
    "crawl/output": "{c}asking_again {c}life {c}actions {c}eligibility",
    "crawl/session": "{c}batching {c}life {c}start {c}actions {c}waiting {c}seen",
    "crawl/experiments": "{c}withheld {c}refetch {c}links {c}requested_again {c}novelties "
    "{c}probe {c}url_rules {c}control {c}claims_tested {c}claims_kept "
    "{c}pattern_budget {c}reporting",
    "crawl/groups": "{c}budget",
    "crawl/guard": "{c}guard {c}store_failures {c}life",
    "crawl/reporting": "{c}reporting {c}patternwarnings {c}actions {c}life {c}audit",
    "crawl/pagestate": "{c}pending {c}waiting {c}life",
    "crawl/pending": "{c}pending {c}waiting {c}life {c}store_failures",
    "crawl/crawlsettings": "{c}broken_starts {c}start {c}settings {c}base",
    "crawl/reading": "{c}reading {c}eligibility {c}browser_pages",
    "crawl/verbs": "tests/cli/test_doctor.py tests/cli/test_try.py",
    "crawl/patternwarnings": "{c}patternwarnings {c}reporting",
}
"""Which tests run for modules that begin so, the longest beginning first, in the order of cost."""

SWAPS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "is": "is not",
    "is not": "is", "in": "not in", "not in": "in", "and": "or", "or": "and", "+": "-", "-": "+",
    "*": "+", "//": "*", "/": "*", "%": "//", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|",
    "True": "False", "False": "True", "0": "1", "1": "2", "2": "3",
}  # fmt: skip
LUA = r"(?P<swap>[=~]=|<=?|>=?|\band\b|\bor\b|(?<= )[+*-](?= )|\btrue\b|\bfalse\b|\b[012]\b)"
LUA_SWAPS = SWAPS | {"==": "~=", "~=": "==", "true": "false", "false": "true"}
SILENT = re.compile(r"\s*(self\.)?_?(logger|log|warnings)\.")


@dataclass(frozen=True)
class Mutant:
    """A place in a module, in bytes, and what is there instead."""

    module: str
    line: int
    start: int
    end: int
    instead: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {'  ->  '.join(self.lines())}"

    def lines(self) -> tuple[str, str]:
        """Return the lines of the place, as one, and what became of them."""
        source = (REPOSITORY / PACKAGE / self.module).read_bytes()
        first = source.rfind(b"\n", 0, self.start) + 1
        last = (source.find(b"\n", self.end) + 1 or len(source) + 1) - 1
        after = source[first : self.start] + self.instead.encode() + source[self.end : last]
        before, then = (" ".join(each.decode().split()) for each in (source[first:last], after))
        return before, then


class Python:
    """The places of a module of Python."""

    def __init__(self, module: str, source: bytes) -> None:
        self.module, self.source = module, source
        self.lines = list(
            itertools.accumulate(map(len, source.splitlines(keepends=True)), initial=0)
        )

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends."""
        start = self.lines[node.lineno - 1] + node.col_offset
        return start, self.lines[node.end_lineno - 1] + node.end_col_offset

    def instead(self, node: ast.AST, text: str) -> Mutant:
        """Return a mutant with a text in place of a node."""
        return Mutant(self.module, node.lineno, *self.span(node), text)

    def between(self, left: ast.AST, right: ast.AST) -> Iterator[Mutant]:
        """Yield a mutant with another operator between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        text = re.sub(rb"#.*", lambda found: b" " * len(found[0]), self.source[start:end])
        found = re.search(rb"is\s+not|not\s+in|[a-z]+|[-+*/%<>=!&|^@]+", text)
        if found and (other := SWAPS.get(b" ".join(found[0].split()).decode())):
            at = start + found.start(), start + found.end()
            yield Mutant(self.module, self.source.count(b"\n", 0, at[0]) + 1, *at, other)

    def below(self, node: ast.AST, *, top: bool) -> Iterator[Mutant]:  # noqa: C901, PLR0912
        """Yield all mutants of a node; `top`: it isn't in a function."""
        inner = list(ast.iter_child_nodes(node))
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
                inner, top = [*defaults, *node.body], False
            case ast.ClassDef():
                inner = list(node.body)
            case ast.AnnAssign() | ast.Assign():
                inner = [node.value] if node.value else []
                targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
                if isinstance(targets[0], ast.Attribute | ast.Subscript):
                    yield self.instead(node, "pass")
            case ast.AugAssign():
                yield self.instead(node, "pass")
            case ast.Raise():
                inner = []  # its message isn't looked at
                if node.exc:
                    yield self.instead(node, "pass")
            case ast.JoinedStr() | ast.Expr(value=ast.Constant()):
                return
            case ast.Expr():
                if SILENT.match(self.text(node)):
                    return
                if not isinstance(node.value, ast.Yield | ast.YieldFrom):
                    yield self.instead(node, "pass")
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.If() | ast.IfExp():
                if not isinstance(node.test, ast.Compare | ast.BoolOp):
                    yield self.instead(node.test, f"not ({self.text(node.test)})")
            case ast.Continue() | ast.Break():
                yield self.instead(node, "break" if isinstance(node, ast.Continue) else "continue")
            case ast.Compare():
                for left, right in itertools.pairwise((node.left, *node.comparators)):
                    yield from self.between(left, right)
            case ast.BoolOp():
                for left, right in itertools.pairwise(node.values):
                    yield from self.between(left, right)
            case ast.BinOp():
                yield from self.between(node.left, node.right)
            case ast.Constant() if not top and (other := SWAPS.get(repr(node.value))):
                yield self.instead(node, other)
        for each in inner:
            yield from self.below(each, top=top)

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        start, end = self.span(node)
        return self.source[start:end].decode()


def in_lua(module: str, source: bytes) -> Iterator[Mutant]:
    """Yield the places of a file of Lua: what is swapped, and calls that are left out."""
    start = 0
    for number, line in enumerate(source.decode().splitlines(keepends=True), 1):
        code = re.sub(r"'[^']*'|\"[^\"]*\"", lambda found: "_" * len(found[0]), line)
        code = code.partition("--")[0]
        for found in re.finditer(LUA, code):
            at = start + found.start(), start + found.end()
            yield Mutant(module, number, *at, LUA_SWAPS[found[0]])
        if found := re.match(r"\s*(redis\.call\(.*\))\s*$", code):
            yield Mutant(module, number, start + found.start(1), start + found.end(1), "")
        start += len(line.encode())


def places(module: str) -> list[Mutant]:
    """Return all places of a module; its path is that within the package."""
    source = (REPOSITORY / PACKAGE / module).read_bytes()
    if module.endswith("lua"):
        return list(in_lua(module, source))
    return list(Python(module, source).below(ast.parse(source), top=True))


def tests_of(module: str) -> list[str]:
    """Return the tests that are to notice what is wrong in a module."""
    beginning = max(filter(module.startswith, TESTS), key=len)
    named = TESTS[beginning].replace("{c}", CRAWL).replace("{s}", STORES).split()
    return [
        name if "/test_" not in name or name.endswith(".py") else name + ".py" for name in named
    ]


def copy_repository(parent: str) -> None:
    """Copy what is tracked, and what is compiled, for this process, and go there."""
    folder = Path(parent) / str(os.getpid())
    listed = subprocess.check_output(["git", "ls-files"], cwd=REPOSITORY, text=True)  # noqa: S607
    compiled = (REPOSITORY / PACKAGE).rglob("*.so")
    for name in (*listed.splitlines(), *(str(each.relative_to(REPOSITORY)) for each in compiled)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (REPOSITORY / name).exists():
            shutil.copy2(REPOSITORY / name, folder / name)
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(folder))


def is_noticed(mutant: Mutant) -> bool:
    """Whether a test fails where a mutant is in place of its original."""
    path = Path(PACKAGE, mutant.module)
    source = path.read_bytes()
    path.write_bytes(source[: mutant.start] + mutant.instead.encode() + source[mutant.end :])
    try:
        # A function that has a compiled twin isn't called beside that.
        os.environ["NEARDUP_PURE"] = "1" if b"@has_twin" in source else ""
        return not is_passed(tests_of(mutant.module))
    finally:
        path.write_bytes(source)


def is_passed(tests: list[str]) -> bool:
    """Whether tests pass, in a process that is forked from this one.

    It has imported what all tests need, but nothing of the package.
    """
    if not (child := os.fork()):
        os.setsid()
        said = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(said, stream)
        options = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", f"--timeout={HANGS}"]
        os._exit(pytest.main([*options, *tests]))
    until, ended = time.monotonic() + SECONDS, (0, 0)
    while not ended[0] and time.monotonic() < until:
        time.sleep(0.05)
        ended = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with servers and workers that a failed test left
    if not ended[0]:
        os.waitpid(child, 0)
    return bool(ended[0]) and os.waitstatus_to_exitcode(ended[1]) == 0


def chosen(beginnings: Sequence[str], sample: int, seed: int) -> list[Mutant]:
    """Return the places that are tried."""
    files = sorted(
        str(path.relative_to(REPOSITORY / PACKAGE))
        for room in sorted({name.partition("/")[0] for name in TESTS})
        for suffix in ("py", "lua")
        for path in (REPOSITORY / PACKAGE / room).rglob(f"*.{suffix}")
    )
    wanted = tuple(beginnings)
    every = [
        mutant
        for name in files
        for mutant in places(name)
        if not wanted or f"{name}:{mutant.line}".startswith(wanted)
    ]
    print(f"{min(sample, len(every))} of {len(every)} places")
    return random.Random(seed).sample(every, min(sample, len(every)))


def main() -> int:
    """Break what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="*", help="beginnings of MODULE:LINE")
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the places, run nothing")
    asked = parser.parse_args()
    mutants = chosen(asked.places, asked.sample, asked.seed)
    if asked.list:
        print(*sorted(map(str, mutants)), sep="\n")
        return 0
    tried = [each for each in mutants if each.lines() not in EXPLAINED.get(each.module, ())]
    noticed, missed = Counter[str](), Counter[str]()
    with TemporaryDirectory() as temporary:
        fork = multiprocessing.get_context("fork")
        pool = ProcessPoolExecutor(asked.jobs, fork, copy_repository, (temporary,))
        running = {pool.submit(is_noticed, each): str(each) for each in tried}
        for done in as_completed(running):
            place = running[done]
            (noticed if done.result() else missed)[place.partition("/")[0]] += 1
            print("noticed " if done.result() else "SURVIVED", place, flush=True)
        pool.shutdown()
    for room in sorted(noticed | missed):
        print(f"{room:10}{noticed[room]:4} of {noticed[room] + missed[room]:4}")
    share = noticed.total() / len(tried) if tried else 1.0
    explained = len(mutants) - len(tried)
    print(f"{noticed.total()} of {len(tried)} noticed ({share:.3f}), {explained} explained")
    return share < ENOUGH


if __name__ == "__main__":
    sys.exit(main())
