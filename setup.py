"""The compiled modules: each ``scrapy_neardup/_speed/*.pyx``, where a C compiler is at hand.

They are optional. What can't be compiled is left out, and pure Python gives the same results;
``NEARDUP_PURE=1`` leaves all of them out. Everything else is in pyproject.toml.
"""

import os
import sys
from pathlib import Path

import lxml
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError

FOLDER = Path("scrapy_neardup", "_speed")

DIRECTIVES = {
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
"""What Cython is told of all modules: their indices are right, and numbers divided as in C.

Without `wraparound` an index from the end is wrong for objects, too: what it is depends on numpy's
version. A test reads the C for such indices."""


class OptionalBuild(build_ext):
    """Builds what it can, and says what it can't."""

    def initialize_options(self) -> None:
        """Say how Cython compiles, and leave the C that it writes out of the source tree."""
        super().initialize_options()
        self.cython_directives = DIRECTIVES
        self.cython_c_in_temp = True

    def run(self) -> None:
        """Build all modules, or none where no compiler can be set up."""
        try:
            super().run()
        except BaseError as error:  # of one module alone, `optional` catches it
            self.warn(f"no compiled modules, pure Python will do their work: {error}")


def modules() -> list[Extension]:
    """Return one extension for each source file."""
    if os.environ.get("NEARDUP_PURE") == "1":
        return []
    return [
        Extension(
            f"scrapy_neardup._speed.{source.stem}",
            [source.as_posix()],
            include_dirs=[*lxml.get_include(), FOLDER.as_posix()],
            # No debugging symbols: they are nine tenths of a module.
            extra_compile_args=[] if sys.platform == "win32" else ["-g0"],
            depends=[
                path.as_posix() for path in FOLDER.iterdir() if path.suffix in {".h", ".pxi"}
            ],
            optional=True,
        )
        for source in sorted(FOLDER.glob("*.pyx"))
    ]


setup(ext_modules=modules(), cmdclass={"build_ext": OptionalBuild})
