import ast
import json
import re
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from forked import python

import scrapy_neardup


def imported_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(python("-c", code, check=True).stdout.split())


def test_public_names_are_lazy():
    assert "scrapy" not in imported_by("import scrapy_neardup")
    assert "scrapy" in imported_by("import scrapy_neardup; scrapy_neardup.Addon")
    with pytest.raises(AttributeError, match="nonsense"):
        scrapy_neardup.nonsense  # noqa: B018


def test_lower_packages_import_neither_scrapy_nor_redis_nor_click():
    packages = ("text", "fingerprints", "tables", "stores", "judge.detector")
    modules = imported_by("import " + ", ".join(f"scrapy_neardup.{name}" for name in packages))
    assert not modules & {"scrapy", "twisted", "redis", "click", "sqlite3", "tldextract"}


ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_one_version_everywhere():
    assert PROJECT["project"]["version"] == scrapy_neardup.__version__
    assert f"\nversion: {scrapy_neardup.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_versions_of_python_that_are_named_are_those_that_wheels_are_built_for():
    named = re.findall(r":: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    built = PROJECT["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp{version.replace('.', '')}-*" for version in named]
    workflow = ROOT / ".github" / "workflows" / "tests.yml"
    if workflow.exists():  # a source distribution is without
        assert f"python: {json.dumps(named)}" in workflow.read_text()
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def test_a_module_and_a_class_have_names_of_their_own():
    paths = list((ROOT / "scrapy_neardup").rglob("*.py"))
    source = "\n".join(path.read_text() for path in paths)
    modules = [path.name for path in paths if path.name != "__init__.py"]
    for names in (modules, re.findall(r"^ *class (\w+)", source, re.MULTILINE)):
        assert len(names) > 50
        assert len(names) == len(set(names)), Counter(names).most_common(3)


def test_redis_is_an_extra():
    assert not any(each.startswith("redis") for each in PROJECT["project"]["dependencies"])
    [extra] = PROJECT["project"]["optional-dependencies"]["redis"]
    assert extra in PROJECT["project"]["optional-dependencies"]["test"]


STRICT = """
import importlib, pkgutil, pathlib, warnings
warnings.filterwarnings("error", module="scrapy_neardup")
import scrapy_neardup
for path in pathlib.Path(scrapy_neardup.__file__).parent.rglob("*.py"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(path.read_text("utf-8"), str(path), "exec")
for found in pkgutil.walk_packages(scrapy_neardup.__path__, "scrapy_neardup."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
"""


def test_no_module_warns_when_it_is_compiled_or_imported():
    done = python("-P", "-c", STRICT)
    assert (done.returncode, done.stderr) == (0, "")


def imports_of(file: Path, modules: set[str]) -> set[str]:
    """Return the modules of the package that a file imports, be it for types alone, or later."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{each.name}" for each in node.names}
            found |= names & modules or {node.module} & modules
    return found


def test_no_modules_import_each_other_in_a_circle():
    root = Path(scrapy_neardup.__file__).parent
    named = lambda file: ".".join(file.relative_to(root.parent).with_suffix("").parts)
    files = {named(file).removesuffix(".__init__"): file for file in root.rglob("*.py")}
    modules = set(files) - {"scrapy_neardup"}  # its names are resolved when they are asked for
    graph = {name: imports_of(files[name], modules) - {name} for name in modules}
    TopologicalSorter(graph).prepare()  # or raises CycleError
