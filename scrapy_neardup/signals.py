"""Signals; connect handlers with ``crawler.signals.connect``."""

near_duplicate = object()
"""Sent as ``near_duplicate(response, verdict, spider)`` for every page that repeats a kept one,
whatever the action. Handlers are called synchronously."""

request_skipped = object()
"""Sent as ``request_skipped(request, rules, spider)`` for every request that claims about URLs
withhold (``NEARDUP_URLS``); `rules` are the claims as sentences."""
