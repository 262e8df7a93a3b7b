"""Run the tests of the compiled modules where any wrong use of memory ends them.

``python tools/sanitizer.py`` compiles a copy of the package in ``.cache/sanitizer`` with GCC's or
Clang's AddressSanitizer and UndefinedBehaviorSanitizer, and runs the tests of ``_speed`` and the
hostile trees of ``make stress`` in it; other tests are named behind it. Standard library only,
Linux only. Exit status: that of pytest.
"""

# ruff: noqa: INP001, S603  (a script that runs a compiler and pytest)

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
COPY = REPOSITORY / ".cache" / "sanitizer"
COPIED = ("scrapy_neardup", "tests", "tools", "docs", "setup.py", "pyproject.toml", "README.md")
TESTS = ("tests/speed", "tests/stress/test_compiled.py")
FLAGS = (
    "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
)
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python itself leaves much at its end
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",  # so that Python's objects are watched, too
    "STRESS_TREES": "4000",
}


def copy() -> None:
    """Copy what is compiled and tested, without what was compiled before."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in COPIED:
        if (REPOSITORY / name).is_dir():
            ignored = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(REPOSITORY / name, COPY / name, ignore=ignored)
        else:
            shutil.copy(REPOSITORY / name, COPY / name)


def compile_copy() -> None:
    """Compile the copy's modules, as pip does, which brings Cython."""
    built = COPY / "built"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(built), "."]
    subprocess.check_call(pip, cwd=COPY, env={**os.environ, "CFLAGS": FLAGS})
    for module in built.glob("scrapy_neardup/_speed/*.so"):
        shutil.copy(module, COPY / "scrapy_neardup" / "_speed")
    shutil.rmtree(built)


def runtime() -> str:
    """Return the path of the sanitizer's library, which has to be loaded before Python."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    name = "libclang_rt.asan-x86_64.so" if "clang" in compiler else "libasan.so"
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def main(*tests: str) -> int:
    """Compile, run the tests, return the status."""
    copy()
    compile_copy()
    environment = {**os.environ, "PYTHONPATH": str(COPY)}
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--timeout", "3600"]
    return subprocess.call(
        [*pytest, "-m", "stress or not stress", *(tests or TESTS)],
        cwd=COPY,
        env={**ENVIRONMENT, **environment, "LD_PRELOAD": runtime()},
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
