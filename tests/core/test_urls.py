import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.urls import Address, redact, shown_keys, site, without_address


@pytest.mark.parametrize(("url", "shown"), [
    ("http://example.com/a?b=c@d", "http://example.com/a?b=c@d"),
    ("http://user:secret@example.com/a", "http://example.com/a"),
    ("redis://:secret@localhost:6379/0", "redis://localhost:6379/0"),
    ("redis://a:b@c@localhost/0", "redis://localhost/0"),
    ("http://user:secret@[::1/bad", "[::1/bad"),
    ("sqlite:/var/lib/pages.db", "sqlite:/var/lib/pages.db"),
    ("", ""),
])  # fmt: skip
def test_redact_removes_user_and_password_only(url, shown):
    assert redact(url) == shown


NAME = st.text("abcXYZ019.-~:@%", max_size=12)


@given(user=NAME, rest=NAME)
def test_redact_never_shows_the_password(user, rest):
    secret = "s3cr3t-Pa55word"
    assert secret not in redact(f"redis://{user}:{secret}@{rest}/0")


@pytest.mark.parametrize(("url", "server", "host", "domain"), [
    ("https://A.Example.co.uk:443/x", "a.example.co.uk", "a.example.co.uk", "example.co.uk"),
    ("http://alice.github.io:80/", "alice.github.io", "alice.github.io", "alice.github.io"),
    ("http://127.0.0.1:8000/", "127.0.0.1:8000", "127.0.0.1", "127.0.0.1"),
    ("http://localhost/", "localhost", "localhost", "localhost"),
    ("http://me:secret@example.com./", "example.com", "example.com", "example.com"),
    ("http://[::1]/", "::1", "::1", "::1"),
    ("http://[bad/", "", "", ""),
    ("http://a.example:bad/", "", "", ""),
    ("page.html", "", "", ""),
])  # fmt: skip
def test_the_site_of_a_page(url, server, host, domain):
    assert [site(url), site(url, "host"), site(url, "domain")] == [server, host, domain]


@pytest.mark.parametrize(("text", "rest"), [
    ('The page "/no/such" could not be found', 'The page "{}" could not be found'),
    ("You asked for http://a.example/no/such?x=1.", "You asked for {}."),
    ("See a.example/no/such, //a.example/no/such and /no/such", "See {}, {} and {}"),
    ("/no/such/page", "/no/such/page"),
    ("/no/such-page", "/no/such-page"),
    ("/no/such.html", "/no/such.html"),
    ("/even/no/such", "/even/no/such"),
    ("no/such", "no/such"),
])  # fmt: skip
def test_a_page_without_its_own_address(text, rest):
    assert without_address(text, "http://me:secret@a.example/no/such?x=1") == rest.format(*"   ")


@pytest.mark.parametrize(("url", "text", "rest"), [
    ("http://a.example/caf%C3%A9", "/caf%C3%A9 or /café", "or"),
    ("http://a.example/", "www.a.example is for sale, b.a.example isn't",
     "is for sale, b.a.example isn't"),
])  # fmt: skip
def test_an_address_is_written_in_either_way_and_a_host_is_one(url, text, rest):
    assert " ".join(without_address(text, url).split()) == rest


@pytest.mark.parametrize("url", [None, "", "page.html", "a/b", "http://[bad/"])
def test_what_has_no_host_is_in_no_text(url):
    text = "a/b http://a.example/ page.html /"
    assert without_address(text, url) == text


@pytest.mark.parametrize(("url", "text", "shown"), [
    ("http://a.example/part.php?no=847-12345", "Part no. 847-12345", ("847-12345",)),
    ("http://a.example/7732-18-5.html", "CAS 50-00-0, 7732-18-5", ("7732-18-5",)),
    ("http://a.example/p/RTX3080?id=1234", "The rtx3080, article 1234", ("rtx3080", "1234")),
    ("http://a.example/p/RTX3080", "The RTX30801", ()),
    ("http://a.example/2024/05/123/2024-05-03", "2024-05, 123, 2024-05-03", ()),
    ("http://a.example/03.05.2024/1.2.3", "03.05.2024, 1.2.3", ()),
    ("http://a.example/a/1234?sid=abc12345", "abc12345", ("abc12345",)),
    ("http://[::1/1234", "1234", ()),
    (None, "1234", ()),
])  # fmt: skip
def test_the_keys_of_an_address_that_a_page_shows(url, text, shown):
    assert shown_keys(url, [text]) == shown


def test_a_name_without_its_extension_and_language():
    pages = ["intro.html", "intro.de.html", "intro.html.de", "intro.html.PT_br", "intro/", "intro"]
    addresses = [Address.of(f"http://a.example/{name}") for name in pages]
    assert len({address.name for address in addresses}) == 1
    assert len({address.path for address in addresses}) == len(pages)
    for other in ("intro.cc.html", "intro.pdf", ""):
        assert Address.of(f"http://a.example/{other}").name != addresses[0].name


@pytest.mark.parametrize("page", ["index.html", "Default.aspx", "index.php"])
def test_the_page_of_a_folder_has_its_name(page):
    folder, found = (Address.of(f"http://a.example/goods/lamp/{each}") for each in ("", page))
    assert found.name == folder.name != Address.of(f"http://a.example/goods/sofa/{page}").name
    assert found.path != folder.path


@pytest.mark.parametrize("name", [
    "from", "order", "sort", "dir", "sid", "session", "PHPSESSID", "utm_source", "token", "view",
])  # fmt: skip
def test_no_parameter_means_anything_by_its_name(name):
    plain, one, other = (
        Address.of(f"http://a.example/list{query}")
        for query in ("", f"?{name}=a9ad4225e0", f"?{name}=b0")
    )
    assert len({plain.query, one.query, other.query}) == 3
    assert plain.name == one.name == other.name
    assert plain.path == one.path == other.path


def test_parameters_in_another_order_are_the_same():
    queries = ("a=1&b=2", "b=2&a=1", "b=2;a=1")
    one, *others = (Address.of(f"http://a.example/list?{query}") for query in queries)
    assert others == [one, one]


def test_every_hash_depends_on_the_salt():
    public, own = (Address.of("http://a.example/b/c?d=e", salt) for salt in ("", "secret"))
    assert public.site == own.site
    hashes = [(*each.folders, each.path, each.name, each.query) for each in (public, own)]
    assert not set(hashes[0]) & set(hashes[1])
    assert len(public.folders) == 2


@pytest.mark.parametrize("path", ["a/b/c", "a/b/c/"])
def test_a_page_stands_in_the_folder_of_its_last_step(path):
    found, beside = (Address.of(f"http://a.example/{each}") for each in (path, "a/b/d"))
    assert found.folders == beside.folders
    assert found.place == beside.place
    assert found.path != Address.of("http://a.example/a/b").path
