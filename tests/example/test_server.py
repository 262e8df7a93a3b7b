"""The server, as a process of its own, over real connections."""

import http.client
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from compare.crawls import PROJECT, served
from forked import python


@pytest.fixture(scope="module")
def url():
    with served(["json", "cmd"]) as url:
        yield url


def test_pages_are_what_the_site_says(url, site):
    with urlopen(url + "module/cmd/?sort=size") as response:
        body = response.read().decode()
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "line-oriented&nbsp;command&nbsp;interpreters" in body
    with urlopen(url + "calendar/2001/01/") as response:
        assert response.read().decode() == site.page("/calendar/2001/01/")


def test_what_is_not_found_says_so_with_status_200(url):
    with urlopen(url + "module/cmd/help/help/") as response:
        assert response.status == 200
        assert "Not found" in response.read().decode()


def test_true_404s_and_a_connection_that_stays_open(url):
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    for path, status in [("/robots.txt", 404), ("/", 200), ("/favicon.ico", 404), ("/x", 200)]:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        assert (response.status, response.will_close) == (status, False)
    connection.close()


def test_it_ends_with_its_caller():
    with served(["cmd"]) as url:
        pass
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(urlsplit(url).netloc).request("GET", "/")


def test_a_taken_port_is_named(url):
    done = python("-m", "docsite", "--port", urlsplit(url).port, "cmd", cwd=PROJECT)
    assert done.returncode == 2
    assert f"port {urlsplit(url).port}: Address already in use" in done.stderr
