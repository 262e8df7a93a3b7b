"""A website that every Python carries, with the traps that make duplicates in the wild.

It needs the standard library only, no network and no clock. The same Python gives the same site,
page by page and link by link.

- `dump`: pydoc's HTML for the standard library, printed by an interpreter of its own
- `library`: that documentation, rendered once and cached
- `site`: URLs, pages, traps, and what each URL truly shows
- `lookalikes`: modules that say the same although they are different pages
- `__main__`: the server
"""
