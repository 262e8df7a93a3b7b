"""Callables for settings."""


def first_heading(response):
    """Fails for a page without a heading."""
    return response.css("h1::text").get() * 10
