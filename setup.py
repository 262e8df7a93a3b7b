"""The compiled modules: each ``scrapy_neardup/_speed/*.pyx``, where a C compiler is at hand.

They are optional. What can't be compiled is left out, and pure Python gives the same results;
``NEARDUP_PURE=1`` leaves all of them out. Everything else is in pyproject.toml.
"""

import os
import sys
from pathlib import Path

import Cython
import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError

FOLDER = Path("scrapy_neardup", "_speed")
C_FILES = Path("build", f"cython-{Cython.__version__}")

DIRECTIVES = {
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
"""What Cython is told of all modules: their indices are right, and numbers divided as in C.

Without `wraparound` an index from the end is wrong for objects, too: what it is depends on numpy's
version. A test reads the C for such indices."""

SHARED = "scrapy_neardup._speed._shared"
"""The module with what Cython's code for arrays has in common: half of each module without it."""


class OptionalBuild(build_ext):
    """Builds what it can, several modules at once, and says what it can't."""

    def initialize_options(self) -> None:
        """Run as many compilers as there are cores."""
        super().initialize_options()
        self.parallel = os.cpu_count()

    def build_extensions(self) -> None:
        """Let Cython write the C, which stays for other Pythons and for a test, and compile it."""
        written = [each.stat().st_mtime for each in C_FILES.rglob("*.c")]
        translated = cythonize(
            self.extensions,
            build_dir=C_FILES.as_posix(),
            force=min(written, default=0) < Path("setup.py").stat().st_mtime,
            compiler_directives=DIRECTIVES,
            include_path=[FOLDER.as_posix()],
            shared_utility_qualified_name=SHARED,
        )
        sources = {each.name: each.sources for each in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        super().build_extensions()

    def run(self) -> None:
        """Build all modules, or none where no compiler can be set up."""
        try:
            super().run()
        except BaseError as error:  # of one module alone, `optional` catches it
            self.warn(f"no compiled modules, pure Python will do their work: {error}")


def modules() -> list[Extension]:
    """Return one extension for each source file, and the one that they share."""
    if os.environ.get("NEARDUP_PURE") == "1":
        return []
    names = sorted(source.stem for source in FOLDER.glob("*.pyx"))
    sources = {f"scrapy_neardup._speed.{name}": FOLDER / f"{name}.pyx" for name in names}
    sources[SHARED] = FOLDER / "_shared.c"  # written by Cython
    return [
        Extension(
            name,
            [source.as_posix()],
            include_dirs=[*lxml.get_include(), FOLDER.as_posix()],
            # No debugging symbols: they are nine tenths of a module.
            extra_compile_args=[] if sys.platform == "win32" else ["-g0"],
            depends=[
                path.as_posix() for path in FOLDER.iterdir() if path.suffix in {".h", ".pxi"}
            ],
            optional=True,
        )
        for name, source in sources.items()
    ]


setup(ext_modules=modules(), cmdclass={"build_ext": OptionalBuild})
