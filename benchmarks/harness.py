"""What all benchmarks share: command lines, tables, timing in turns, processes of their own."""

import os
import resource
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter_ns, process_time
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path[1:1] = [str(ROOT / "tests" / "support"), str(ROOT / "example_project")]

Answer = TypeVar("Answer")


def arguments(  # noqa: C901
    doc: str | None,
    *positional: str,
    quick: Mapping[str, object] | None = None,
    check: Callable[[Namespace], str | None] = lambda _: None,
    **options: Any,
) -> Namespace:
    """Parse the command line of the benchmark whose docstring is `doc`.

    Positional arguments take any number of paths; `quick` is what ``--quick`` sets (None: there is
    no such option); `check` returns what is wrong. Options are NAME=default, or a tuple of
    default, help and choices: False is a switch, a list takes several values ([""]: one a time),
    and a type is that of a value whose default is None.
    """
    parser = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    for name in positional:
        parser.add_argument(name, nargs="*", type=Path)
    lists = {}
    for name, given in options.items():
        default, text, choices = (*(given if isinstance(given, tuple) else [given]), None, None)[
            :3
        ]
        option, how = f"--{name.replace('_', '-')}", {"help": text}
        if default is False:
            how["action"] = "store_true"
        else:
            one = default[0] if isinstance(default, list) else default
            kind = one if isinstance(one, type) else type(one)
            how |= {"type": _whole if kind is int else kind, "choices": choices}
        if isinstance(default, list):
            lists[name] = default
            how |= {"action": "append"} if default == [""] else {"action": "extend", "nargs": "+"}
        elif default is not False:
            how["default"] = None if isinstance(default, type) else default
        parser.add_argument(option, **how)
    if quick is not None:
        parser.add_argument("--quick", action="store_true", help="on little data, in seconds")
    found = parser.parse_args()
    for name, default in lists.items():
        if getattr(found, name) is None:
            setattr(found, name, default)
    if quick is not None and found.quick:
        vars(found).update(quick)
    if wrong := check(found):
        parser.error(wrong)
    return found


def _whole(text: str) -> int:
    return int(float(text))  # 1e6 is a number


class Table:
    """A table that is printed row by row; each column has a name and a format."""

    def __init__(self, **columns: str) -> None:
        self._specs = [spec.lstrip("<>") for spec in columns.values()]
        self._sides = [spec[0] if spec[0] in "<>" else ">" for spec in columns.values()]
        self.row(*columns)

    def row(self, *cells: object) -> None:
        """Print cells; text where there should be a number keeps the column's width."""
        columns = zip(cells, self._specs, self._sides, strict=True)
        widths = ((cell, spec.partition(".")[0].rstrip(",%ds"), spec, side)
                  for cell, spec, side in columns)  # fmt: skip
        print(" ".join(format(cell, side + (width if isinstance(cell, str) else spec))
                       for cell, width, spec, side in widths).rstrip(), flush=True)  # fmt: skip


def timed(call: Callable[[], Answer], repeat: int = 1) -> tuple[float, Answer]:
    """Return the least processor seconds of some calls, and what the last one returned."""
    return in_turns({"": call}, repeat)[""]


def in_turns(calls: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, tuple[float, Any]]:
    """Call all in turns; return for each the least processor seconds, and its last answer.

    What else the machine does meets all of them.
    """
    found: dict[str, tuple[float, Any]] = {}
    for _ in range(turns):
        for name, call in calls.items():
            start = process_time()
            answer = call()
            seconds = process_time() - start
            found[name] = min(seconds, found.get(name, (seconds,))[0]), answer
    return found


@contextmanager
def environment(*, pure: bool) -> Iterator[None]:
    before = os.environ.pop("NEARDUP_PURE", None)
    os.environ |= {"NEARDUP_PURE": "1"} if pure else {}
    try:
        yield
    finally:
        os.environ.pop("NEARDUP_PURE", None)
        os.environ |= {"NEARDUP_PURE": before} if before is not None else {}


def in_own_process(call: Callable[..., Answer], *given: object, pure: bool = False) -> Answer:
    """Return what a function returns in a fresh process; `pure`: without compiled modules."""
    with environment(pure=pure), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(call, *given).result()


def round_medians(
    call: Callable[[Any], object], given: Iterable[Any], rounds: int, clock=perf_counter_ns
) -> list[float]:
    """Call with each of `given`; return each round's median, in microseconds."""
    medians = []
    for _ in range(rounds):
        times = []
        for each in given:
            start = clock()
            call(each)
            times.append(clock() - start)
        medians.append(median(times) / 1000)
    return medians


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for so long."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def html_files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in {".html", ".htm"} and path.is_file() and not path.is_symlink()
    )


def resident() -> int:
    """Return the bytes of memory that this process holds; where there is no /proc, at its peak."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
