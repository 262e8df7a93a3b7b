"""Callables for settings."""


def first_heading(response):
    """Fails for a page without a heading."""
    return response.css("h1::text").get() * 10


def nothing(response):
    """Forgets to return a text."""


def no_weights(hashes, counts):
    """Fails for every page."""
    raise RuntimeError("no weights")


def first_letter(response):
    """The first letter of the path; fails for the root."""
    return response.url.split("/")[3][0]
