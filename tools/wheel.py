"""Build the source distribution and the wheel, and try the wheel as a user meets it.

``python tools/wheel.py`` builds both into ``dist``, the wheel from the source distribution, and
lets `twine check` and `check-wheel-contents` judge them. Into an environment of its own, where no
compiler can be found and the repository isn't on the path, it installs the wheel, and there runs
the compiled functions on their examples, their tests, and the example project. Standard library
only.
"""

# ruff: noqa: INP001, S603  (a script that runs pip and pytest)

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from matrix import FOLDER, REPOSITORY, SHORT_NEEDS, outside

DIST = REPOSITORY / "dist"
TOOLS = ("build", "twine", "check-wheel-contents")
NO_COMPILER = {"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++", "PIP_ONLY_BINARY": ":all:"}
"""An environment in which pip takes wheels only, and nothing could be compiled."""


def environment(name: str, *requirements: str, **variables: str) -> str:
    """Make an environment anew, install `requirements`, and return its interpreter."""
    folder = FOLDER.parent / "wheel" / name
    subprocess.check_call([sys.executable, "-m", "venv", "--clear", str(folder)])
    binary = str(folder / "bin" / "python")
    install = [binary, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call([*install, *requirements], env=os.environ | variables)
    return binary


def main() -> None:
    """Build, check, install, run; whatever fails raises."""
    tools = environment("tools", *TOOLS)
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.check_call([tools, "-m", "build", "--outdir", str(DIST)], cwd=REPOSITORY)
    made = sorted(map(str, DIST.iterdir()))
    subprocess.check_call([tools, "-m", "twine", "check", "--strict", *made])
    (wheel,) = (each for each in made if each.endswith(".whl"))
    subprocess.check_call([tools, "-m", "check_wheel_contents", wheel])
    binary = environment("clean", wheel, *SHORT_NEEDS, **NO_COMPILER)
    variables = os.environ | NO_COMPILER | outside()
    for command in (
        ["-P", "-m", "scrapy_neardup._speed", "--all"],
        ["-P", "-m", "pytest", "-q", "tests/speed"],
    ):
        subprocess.check_call([binary, *command], cwd=REPOSITORY, env=variables)
    example = REPOSITORY / "example_project"
    subprocess.check_call([binary, "-m", "compare"], cwd=example, env=os.environ | NO_COMPILER)


if __name__ == "__main__":
    main()
