"""What the doctor says of an installation and of projects."""

import forked
import pytest

from scrapy_neardup import __version__

RIGHT = 'ADDONS = {"scrapy_neardup.Addon": 500}'


@pytest.fixture
def asked(tmp_path):
    """Ask the doctor about a project with these lines in its settings; return what it said."""

    def asked(*lines, arguments=("--project",), status=0):
        (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop\n")
        (tmp_path / "shop.py").write_text(
            "\n".join(["BOT_NAME = 'shop'", "SPIDER_MODULES = ['spiders']", *lines])
        )
        (tmp_path / "spiders.py").write_text(
            "import scrapy\n\nclass News(scrapy.Spider):\n    name = 'news'\n"
            "    custom_settings = {'NEARDUP_TITLES': 'strict'}\n"
        )
        ended = forked.run("scrapy_neardup.cli", "main", "doctor", *arguments, cwd=tmp_path)
        assert ended.returncode == status, ended
        return ended.stdout + ended.stderr

    return asked


def findings(said):
    return [line.strip() for line in said.partition("To be done\n")[2].splitlines()]


def test_what_is_installed(call):
    said = call("doctor").stdout
    assert f"scrapy-neardup        {__version__}, " in said
    assert "redis (redis)" in said
    assert "Project" not in said


def test_a_project_in_order(asked):
    said = asked(RIGHT, "NEARDUP_SCOPE = 'host'", arguments=("news", "-s", "NEARDUP_DENY=/a/,/b/"))
    assert "Project (shop, spider news)" in said
    assert "\nSettings: all have their defaults, except\n" in said
    assert "  scrapy_neardup.Addon  ADDONS, place 500\n" in said
    assert "  NEARDUP_SCOPE   'host'   (shop)\n" in said
    assert "  NEARDUP_TITLES  'strict'   (custom_settings)\n" in said
    assert "  NEARDUP_DENY    (re.compile('/a/'), re.compile('/b/'))   (-s)\n" in said
    assert "memory: (a crawl forgets its pages when it ends)" in said
    assert said.endswith("\nNothing needs to be mended.\n")


def test_a_project_without_settings_of_its_own(asked):
    assert "\nSettings: all have their defaults\n\nNothing" in asked(RIGHT)


def test_without_project_it_says_that_there_is_one(asked):
    assert "There is a Scrapy project here: --project" in asked(arguments=())


HALF = "scrapy_neardup.crawl.middlewares.NearDuplicateSpiderMiddleware"


@pytest.mark.parametrize(("lines", "problem", "remedy"), [
    (["NEARDUP_SCOPE = 'host'", "NEARDUP_TITLES = 'strict'"],
     "the add-on isn't switched on, so these have no effect: NEARDUP_SCOPE, NEARDUP_TITLES",
     f"set {RIGHT}"),
    (["EXTENSIONS = {'scrapy_neardup.Addon': 500}"],
     "EXTENSIONS names scrapy_neardup.Addon, which does nothing there",
     f"it is an add-on; set {RIGHT}"),
    ([f"SPIDER_MIDDLEWARES = {{'{HALF}': 60}}"],
     "one half of the plugin alone is an error at the start of a crawl",
     f"add the other one to DOWNLOADER_MIDDLEWARES, or set {RIGHT} in place of both"),
    ([RIGHT, "NEARDUP_ENABLED = False"], "NEARDUP_ENABLED is off: the plugin does nothing",
     "remove it, or set it True"),
    ([RIGHT, "NEARDUP_SCOPES = 'host'"], "NEARDUP_SCOPES is not a setting of scrapy-neardup",
     "did you mean NEARDUP_SCOPE?"),
    ([RIGHT, "TWISTED_REACTOR = 'twisted.internet.selectreactor.SelectReactor'"],
     "the reactor isn't asyncio's",
     "remove TWISTED_REACTOR, or set 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"),
    ([RIGHT, "NEARDUP_STORE = 'redis://u:secret@127.0.0.1:1/0'"], None,
     "correct NEARDUP_STORE, or start the server"),
    ([RIGHT, "NEARDUP_STORE = 'mysql://h/d'"], None, "correct NEARDUP_STORE, or start the server"),
    ([RIGHT, "NEARDUP_STORE = 'sqlite:/no/such/folder/pages.sqlite'"],
     "the folder of sqlite:/no/such/folder/pages.sqlite doesn't exist", "make /no/such/folder"),
    ([RIGHT, "NEARDUP_AUDIT = '/'"], "NEARDUP_AUDIT: / is a folder", "name a file in it"),
    ([RIGHT, "NEARDUP_AUDIT = '/no/a.jsonl'"], "NEARDUP_AUDIT: the folder /no doesn't exist",
     "make it"),
    ([RIGHT, "NEARDUP_BASE = 'no.pack'"], "NEARDUP_BASE: there is no file no.pack",
     "correct the path"),
])  # fmt: skip
def test_each_problem_has_its_remedy(asked, lines, problem, remedy):
    said = asked(*lines, status=1)
    assert "secret" not in said
    found = findings(said)
    assert len(found) == 2
    assert problem is None or found[0] == f"1. {problem}"
    assert found[1] == f"-> {remedy}"


def test_a_store_that_was_made_otherwise(asked, call, site, tmp_path):
    store = f"sqlite:{tmp_path}/pages.sqlite"
    call("load", site, "--store", store, "--namespace", "shop.news")
    lines = RIGHT, f"NEARDUP_STORE = {store!r}"
    said = asked(*lines, arguments=("news",))
    assert f"{store}: namespace shop.news: 3 pages, 6 repeats of them" in said
    said = asked(*lines, "NEARDUP_SHINGLE_SIZE = 3", arguments=("news",), status=1)
    assert findings(said)[0] == (
        "1. namespace shop.news was made with other parameters:"
        " shingle_size is '4' there and '3' here"
    )
    said = asked(*lines, "NEARDUP_HASH_KEY = 'secret'", arguments=("news",), status=1)
    problem, remedy = findings(said)
    assert problem.startswith("1. NEARDUP_STORE: namespace shop.news was made with a key")
    assert remedy.startswith("-> Set NEARDUP_HASH_KEY as it was then")
    # Recorded where it is so alone; and no spider is needed to know this namespace.
    lines += "NEARDUP_PRESET = 'exact'", "NEARDUP_NAMESPACE = 'shop.news'"
    assert "exact is 'None' there and '1' here" in findings(asked(*lines, status=1))[0]


def test_no_project_and_no_such_spider(call, asked):
    refused = call("doctor", "--project", status=2)
    assert "--project: there is no Scrapy project here" in refused.stderr
    said = asked(RIGHT, arguments=("boots",), status=2)
    assert "there is no spider 'boots'; the project has: news" in said
