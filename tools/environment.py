"""Make the virtual environment that the Makefile's targets run in.

``python tools/environment.py .venv test lint`` makes ``.venv`` if there is none and
installs this package into it, editable, with the extras ``test`` and ``lint``. The files
``.ready-test`` and ``.ready-lint`` in it tell make that this was done, as each installation
compiles the package again. Standard library only, and any Python 3 can read it, so that an old
one gets an answer too.

Exit status: 0, or 2 with a message that says what to install.
"""

# ruff: noqa: INP001, T201, S603  (a script that runs pip)

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)


def complain(message: str) -> int:
    """Print `message` and return the status of a usage error."""
    print("\n" + message, file=sys.stderr)
    return 2


def why_unfit() -> str:
    """Return what is wrong with this Python, or an empty string."""
    way_out = "Install what is missing, or name another Python: make ... PYTHON=/path/to/python3"
    version = "{}.{}".format(*sys.version_info)
    if sys.version_info < OLDEST:
        return f"{sys.executable} is Python {version}; 3.11 or later is needed.\n{way_out}"
    try:
        import ensurepip  # noqa: F401, PLC0415  (Debian ships Python without it)
        import venv  # noqa: F401, PLC0415
    except ImportError as error:
        return (
            f"{sys.executable} can't make virtual environments ({error}). On Debian and Ubuntu:\n"
            f"    apt install python3-venv    (or python{version}-venv)\n{way_out}"
        )
    return ""


def main(folder: str, *extras: str) -> int:
    """Make the environment in `folder`; return the exit status."""
    environment = REPOSITORY / folder
    python = str(environment / "bin" / "python")
    if not works(python, "-c", "import pip"):
        problem = why_unfit()
        if problem:
            return complain(problem)
        print(f"Making a virtual environment in {folder} with {sys.executable}", flush=True)
        if not works(sys.executable, "-m", "venv", "--clear", str(environment)):
            return complain(f"venv failed. To see why: {sys.executable} -m venv {environment}")
    package = "." + (f"[{','.join(extras)}]" if extras else "")
    print(f"Installing scrapy-neardup{package[1:]} and what it needs into {folder}", flush=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    status = subprocess.call([*install, "--editable", package], cwd=str(REPOSITORY))
    if status:
        return complain("pip failed, see above. It needs a package index, hence a network.")
    for extra in ("base", *extras):
        (environment / f".ready-{extra}").touch()
    return 0


def works(*command: str) -> bool:
    """Whether `command` ends with status 0; what it prints is left out."""
    try:
        return not subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
