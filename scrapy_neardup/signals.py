"""Signals, to be connected with ``crawler.signals.connect``."""

near_duplicate = object()
"""Sent as ``near_duplicate(response, verdict, spider)`` for every page that repeats a kept
one, whatever is then done about it. Handlers are called synchronously.
"""

request_skipped = object()
"""Sent as ``request_skipped(request, rules, spider)`` for every request that URL rules
keep from being made (``NEARDUP_URLS``); `rules` are texts.
"""
