"""Compiled twins of the package's inner loops, if they could be built.

The pure code is the reference. A compiled function gives the same result as its twin, bit for bit.
It is used only if it does so on an example when it is imported; with ``NEARDUP_PURE=1`` in the
environment none is used. Nothing here imports another package.

Each ``NAME.pyx`` is a separate module. ``setup.py`` compiles all of them, and leaves out those
that it can't compile. ``python -m scrapy_neardup._speed`` tries each of them on its example, and
says which of them are used.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from types import ModuleType
from typing import Any, Final, TypeVar, cast

IS_PURE: Final = os.environ.get("NEARDUP_PURE") == "1"
"""Whether the environment requests pure Python."""

REFUSED: Final[dict[str, str]] = {}
"""Compiled modules or functions that pure Python replaces -> why."""

TWINS: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {}
"""Module and name of each compiled twin that is used -> the function or class and the twin."""

_Function = TypeVar("_Function", bound=Callable[..., Any])

_log = logging.getLogger(__name__)


class Unfit(Exception):  # noqa: N818  (what it says is logged as it is)
    """Raised by an example if a compiled module must not run here; its message says why."""


def load(name: str) -> ModuleType | None:
    """Return a compiled module, or None if it wasn't built or pure Python is requested."""
    if IS_PURE:
        return None
    whole = f"{__name__}.{name}"
    try:
        return import_module(whole)
    except Exception as error:  # noqa: BLE001  (built for another Python, numpy or lxml)
        if not (isinstance(error, ModuleNotFoundError) and error.name == whole):
            refuse(name, f"it can't be loaded: {error!r}")
        return None


def refuse(name: str, reason: str) -> None:
    """Log that pure Python does the work of a compiled module or function, and why."""
    REFUSED[name] = reason
    _log.warning("scrapy-neardup runs %s in pure Python: %s", name, reason)


def has_twin(module: str, *example: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that replaces a function by its compiled twin if both agree.

    The twin has the same name, parameters and results, and is in `module`, one of those of
    `scrapy_neardup._speed.kernels`. Both are called with the example's arguments; their results
    are compared, and so are their changes to the arguments. The functions that it calls must be
    defined above it.
    """

    def made(way: _Function) -> object:
        arguments = deepcopy(example)
        return way(*arguments), arguments

    return lambda pure: faster_type(pure, module, made)


def faster_type(pure: _Function, module: str, example: Callable[[Any], object]) -> _Function:
    """Return the compiled twin of a class, or the class itself; see `has_twin`.

    The results of `example` for the twin and for the class are compared.
    """
    name = pure.__name__

    def made(compiled: ModuleType | None) -> object:
        return example(getattr(compiled, name) if compiled else pure)

    if (compiled := agreeing(module, made, f"{module}.{name}")) is None:
        return pure
    TWINS[f"{module}.{name}"] = pure, getattr(compiled, name)
    return cast("_Function", getattr(compiled, name))


def agreeing(
    module: str, example: Callable[[ModuleType | None], object], name: str | None = None
) -> ModuleType | None:
    """Return a compiled module if `example` gives the same result with it as with None, or None.

    None stands for pure Python. If they differ, `name` is logged, by default the module's name.
    """
    if (compiled := load(module)) is None:
        return None
    expected = example(None)
    try:
        if same(example(compiled), expected):
            return compiled
        why = "the compiled code gives another result"
    except Unfit as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001  (whatever it is, the twin does without)
        why = f"the compiled code, of another source or for another library, raised {error!r}"
    refuse(name or module, why)
    return None


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two results are equal in type and value, also in lists and tuples."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, (tuple, list)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if hasattr(ours, "dtype"):
        return bool(ours.dtype == theirs.dtype) and bool(ours.tolist() == theirs.tolist())
    return bool(ours == theirs)
