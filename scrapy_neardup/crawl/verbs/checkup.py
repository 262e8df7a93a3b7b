"""A check of a project's settings without a crawl: `scrapy-neardup doctor`.

Nothing is written, and a store is only read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings, inside_project

from scrapy_neardup.crawl.component import COMPONENT_SETTINGS, enabled, misplaced, named
from scrapy_neardup.crawl.crawlsettings import (
    CrawlSettings,
    read_settings,
    resolve_namespace,
    store_uri,
)
from scrapy_neardup.errors import ConfigurationError, NeardupError, StoreMismatchError
from scrapy_neardup.settings.catalogue import OPTIONS, Option
from scrapy_neardup.stores import open_store
from scrapy_neardup.stores.admin import ADMINS, store_admin
from scrapy_neardup.stores.base import differences
from scrapy_neardup.stores.entryformat import KeyRecord
from scrapy_neardup.urls import redact_store

_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_ADDON = 'ADDONS = {"scrapy_neardup.Addon": 500}'
_TIME = "%(time)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """The result of checking a project.

    `project` is its settings module, and the spider whose settings were used, if any; `facts` maps
    subjects to their state, in words, `settings` each setting to its checked value and where it
    was set; `findings` are problems, each with its remedy.
    """

    project: str
    facts: dict[str, str] = field(default_factory=dict)
    settings: dict[str, tuple[str, str]] = field(default_factory=dict)
    findings: list[tuple[str, str]] = field(default_factory=list)

    def find(self, problem: str, remedy: str) -> None:
        """Add a finding."""
        self.findings.append((problem, remedy))


async def check_project(spider: str | None, given: Mapping[str, str]) -> Checkup:
    """Check the Scrapy project in the current folder, with settings `given` on the command line.

    The ``custom_settings`` of the `spider` of this name count, too. Raises `ConfigurationError` if
    there is no project here, or no such spider.
    """
    if not inside_project():
        raise ConfigurationError("--project: there is no Scrapy project here (no scrapy.cfg)")
    known = get_project_settings()
    known.setdict(given, priority="cmdline")
    crawler = Crawler(_spider(known, spider), known)
    module = os.environ.get("SCRAPY_SETTINGS_MODULE", "")
    found = Checkup(project=module + (f", spider {spider}" if spider else ""))
    _check_places(found, crawler.settings)
    _check_reactor(found, crawler.settings)
    settings = _read(found, crawler.settings, module)
    if settings is not None:
        await _check_store(found, crawler, settings)
        _check_files(found, settings)
    return found


def _spider(known: Settings, name: str | None) -> type[Spider]:
    if name is None:
        return Spider
    loader = load_object(known["SPIDER_LOADER_CLASS"]).from_settings(known)
    if name not in loader.list():
        names = ", ".join(sorted(loader.list())) or "none"
        raise ConfigurationError(f"there is no spider {name!r}; the project has: {names}")
    spider: type[Spider] = loader.load(name)
    return spider


def _check_places(found: Checkup, settings: Settings) -> None:
    for problem, remedy in misplaced(settings):
        found.find(problem, remedy)
    placed = {setting: named(settings, setting) for setting in COMPONENT_SETTINGS}
    for setting in COMPONENT_SETTINGS:
        for name, loaded in placed[setting].items():
            if getattr(loaded, "belongs_in", setting) == setting:
                found.facts[name] = f"{setting}, place {settings.getdict(setting)[name]}"
    halves = [bool(placed[f"{half}_MIDDLEWARES"]) for half in ("DOWNLOADER", "SPIDER")]
    if not enabled(settings):
        found.find("NEARDUP_ENABLED is off: the plugin does nothing", "remove it, or set it True")
    elif found.findings or placed["ADDONS"]:
        return
    elif any(halves) and not all(halves):
        missing = "SPIDER" if halves[0] else "DOWNLOADER"
        found.find(
            "one half of the plugin alone is an error at the start of a crawl",
            f"add the other one to {missing}_MIDDLEWARES, or set {_ADDON} in place of both",
        )
    elif not any(halves):
        given = [name for name in settings if str(name).startswith("NEARDUP_")]
        unused = f", so these have no effect: {', '.join(sorted(given))}" if given else ""
        found.find(f"the add-on isn't switched on{unused}", f"set {_ADDON}")


def _check_reactor(found: Checkup, settings: Settings) -> None:
    reactor = settings["TWISTED_REACTOR"]
    if not settings.getbool("TWISTED_REACTOR_ENABLED", default=True):
        found.facts["reactor"] = "none"
        return
    found.facts["reactor"] = str(reactor or "Twisted's default")
    if reactor != _ASYNCIO:
        found.find("the reactor isn't asyncio's", f"remove TWISTED_REACTOR, or set {_ASYNCIO!r}")


def _read(found: Checkup, settings: Settings, module: str) -> CrawlSettings | None:
    names = {number: name for name, number in SETTINGS_PRIORITIES.items()}
    sources = {"project": module or "project", "spider": "custom_settings", "cmdline": "-s"}
    for name in sorted(str(key) for key in settings if str(key).startswith("NEARDUP_")):
        source = names.get(settings.getpriority(name) or 0, "default")
        option = OPTIONS.get(name.removeprefix("NEARDUP_").lower())
        found.settings[name] = _shown(option, settings[name]), sources.get(source, source)
    try:
        return read_settings(settings)
    except ConfigurationError as error:
        problem, _, remedy = str(error).partition("; ")
        found.find(problem, remedy or "correct it; docs/settings.md says what it may be")
        return None


def _shown(option: Option | None, value: object) -> str:
    """Return the checked value of an option, or the given value if it can't be used."""
    if option is OPTIONS["store"]:
        return redact_store(str(value))
    if option is None or option.is_secret:
        return "(secret)" if option else repr(value)
    try:
        return repr(option.read(value))
    except ConfigurationError:
        return repr(value)


async def _check_store(found: Checkup, crawler: Crawler, settings: CrawlSettings) -> None:
    uri = store_uri(crawler, settings)
    shown, parameters = redact_store(uri), settings.parameters
    scheme, file = _parts_of(uri)
    try:
        open_store(uri, max_distance=parameters.max_distance, matching=parameters.matching)
        if scheme == "memory":
            found.facts["store"] = "memory: (a crawl forgets its pages when it ends)"
        elif scheme not in ADMINS:
            found.facts["store"] = f"{shown} (can't be examined from outside)"
        elif scheme == "sqlite" and not file.exists():
            found.facts["store"] = f"{shown} (made by the first crawl)"
            if not file.absolute().parent.is_dir():
                found.find(f"the folder of {shown} doesn't exist", f"make {file.parent}")
        else:
            found.facts["store"] = f"{shown}: {await _held(found, uri, crawler, settings)}"
    except NeardupError as error:
        found.facts["store"] = f"{shown} (can't be used)"
        found.find(str(error), "correct NEARDUP_STORE, or start the server")


def _parts_of(uri: str) -> tuple[str, Path]:
    scheme, _, rest = uri.partition(":")
    return scheme.lower(), Path(rest)


async def _held(found: Checkup, uri: str, crawler: Crawler, settings: CrawlSettings) -> str:
    async with store_admin(uri) as admin:
        there = await admin.namespaces()
        template = settings.namespace
        if (template and _TIME in template) or (template is None and crawler.spidercls is Spider):
            return f"namespaces {', '.join(there) or 'none yet'}"
        spider = getattr(crawler.spidercls, "name", "")
        namespace = resolve_namespace(
            template, bot=crawler.settings["BOT_NAME"], spider=spider, now=""
        )
        report = await admin.report(namespace) if namespace in there else None
    if report is None:
        return f"namespace {namespace}: nothing yet"
    parameters = settings.parameters
    not_always = {"exact": "None", "permutations": "None"}
    here = {
        **not_always,
        **{name: str(value) for name, value in parameters.schema().items()},
        **{name: str(value) for name, value in parameters.matching.record().items()},
        "max_distance": str(parameters.max_distance),
    }
    del here["hash_key"]
    recorded = {name: value for name, value in report.parameters.items() if name in here}
    if differing := differences(not_always | recorded, here):
        found.find(
            f"namespace {namespace} was made with other parameters: {differing}",
            "restore these settings, or use another NEARDUP_NAMESPACE or store",
        )
    try:
        KeyRecord.read(report.parameters).key(parameters.hash_key, f"namespace {namespace}")
    except StoreMismatchError as error:
        problem, _, remedy = str(error).partition(". ")
        found.find(problem, remedy)
    stats = report.stats
    return f"namespace {namespace}: {stats.pages:,} pages, {stats.dropped:,} repeats of them"


def _check_files(found: Checkup, settings: CrawlSettings) -> None:
    if settings.audit is not None:
        audit = Path(settings.audit).absolute()
        if audit.is_dir():
            found.find(f"NEARDUP_AUDIT: {audit} is a folder", "name a file in it")
        elif not audit.parent.is_dir():
            found.find(f"NEARDUP_AUDIT: the folder {audit.parent} doesn't exist", "make it")
    if settings.base is not None and not Path(settings.base).is_file():
        found.find(f"NEARDUP_BASE: there is no file {settings.base}", "correct the path")
