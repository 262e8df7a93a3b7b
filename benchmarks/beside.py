"""The Redis store of another checkout beside this one's, for ``redis_store.py --beside``.

Each has a process of its own, which imports that checkout's package, makes pages with that
checkout's ``redis_store.py``, and has them judged, on a server of its own, whenever it is told to.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from inspect import signature
from itertools import product
from pathlib import Path
from time import process_time

HERE = Path(__file__).resolve().parent
FILLED_AT_ONCE, FILLED_IN_TURN, ROUNDS, AT_ONCE = 512, 16_384, 10, (8, 64)


class Side:
    """The process of a checkout, and what the pages cost that were judged there."""

    def __init__(self, tree: Path, words: tuple[object, ...], stack: ExitStack) -> None:
        found = os.pathsep.join(map(str, (tree / "benchmarks", HERE)))
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import beside; beside.serve()", *map(str, words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree,
            env=os.environ | {"PYTHONPATH": found},
        )  # fmt: skip
        stack.enter_context(self._process)  # which closes its input in the end, and waits
        self._sums: dict[str, Counter[str]] = defaultdict(Counter)
        self.bytes = 0

    def judge(self, kind: str, at_once: int, numbers: range, known: int) -> None:
        """Have pages of these numbers judged, near those of the first `known` numbers."""
        words = kind, at_once, numbers.start, numbers.stop, known
        print(json.dumps(words), file=self._process.stdin, flush=True)
        judged = json.loads(self._process.stdout.readline())
        self.bytes = judged.pop("bytes")
        self._sums[f"{kind}, {at_once} at once"].update(judged, pages=len(numbers))

    def figures(self) -> Iterator[tuple[str, float]]:
        for what, clock in product(self._sums, ("server", "client")):
            sums = self._sums[what]
            yield f"{what}: {clock} CPU µs", sums[clock] / sums["pages"] * 1e6


def compare(
    trees: dict[str, Path], words: tuple[object, ...], pages: int, probes: int, kinds: list[str]
) -> dict[str, dict[str, float]]:
    """Return bytes and CPU of a page in each checkout."""
    filled = [range(at, min(at + FILLED_IN_TURN, pages)) for at in range(0, pages, FILLED_IN_TURN)]
    results: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        sides = {name: Side(tree, words, stack) for name, tree in trees.items()}
        in_turn = list(sides.values())

        def turn(kind: str, at_once: int, numbers: range) -> None:
            for side in in_turn:
                side.judge(kind, at_once, numbers, pages)
            in_turn.reverse()

        for numbers in filled:
            turn("new", FILLED_AT_ONCE, numbers)
        for name, side in sides.items():
            results[name] = {"bytes": side.bytes / pages}
        size = max(probes // ROUNDS, 1)
        for place, (_, at_once, kind) in enumerate(product(range(ROUNDS), AT_ONCE, kinds)):
            start = pages + place * size
            turn(kind, at_once, range(start, start + size))
        for name, side in sides.items():
            results[name].update(side.figures())
    return results


def serve() -> None:
    asyncio.run(_serve(*sys.argv[1:]))


async def _serve(preset: str, tables: str, expected: str) -> None:
    import redis_store as there  # of the checkout

    async with AsyncExitStack() as stack:
        words = [preset, int(tables), there.K]
        if "expected" in signature(there.Contestant).parameters:  # from format 6 on
            words.append(int(expected))
        one = there.Contestant(*words, stack, cluster=False)
        await stack.enter_async_context(one.store)
        empty = one.info("memory", "used_memory")
        while line := await asyncio.to_thread(sys.stdin.readline):
            kind, at_once, start, stop, known = json.loads(line)
            pages = [
                one.page(number) if kind == "new"
                else one.near(number * there.STEP % known, number, repeats=kind == "duplicate")
                for number in range(start, stop)
            ]  # fmt: skip
            costs = await _costs(one, pages, at_once, there.KINDS[kind])
            await asyncio.gather(*(one.store.confirm(page.id) for page in pages))
            costs["bytes"] = one.info("memory", "used_memory") - empty
            print(json.dumps(costs), flush=True)


async def _costs(one, pages: list, at_once: int, wanted: object) -> dict[str, float]:
    """Judge pages; return seconds of CPU of both sides."""
    waiting = iter(pages)

    async def work() -> None:
        for page in waiting:
            verdict = await one.store.check_and_add(page)
            assert verdict.decision is wanted, f"a wrong answer for {page}"

    names = "cpu", "used_cpu_user", "used_cpu_sys"
    server, client = one.info(*names), process_time()
    await asyncio.gather(*(work() for _ in range(at_once)))
    client = process_time() - client
    return {"server": one.info(*names) - server, "client": client}
