"""Lines of audit files, as crawls write them."""

import json
from datetime import UTC, datetime, timedelta

from scrapy_neardup.crawl.audit import pack_text

ASKED = {"begun", "experiment", "refetched"}
"""Events of an audit that say nothing about a verdict."""


def lines(path):
    return [*map(json.loads, path.read_text().splitlines())]


def verdicts(path):
    return [line for line in lines(path) if line.get("event") not in ASKED]


def events(path, kind):
    return [line for line in lines(path) if line.get("event") == kind]


START = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Audit:
    """An audit that grows by a line at a time, a second each."""

    def __init__(self) -> None:
        self.entries = []

    def _add(self, page, verdict, **keys):
        number = len(self.entries)
        if isinstance(text := keys.pop("text", None), str):
            keys["text"] = pack_text(text)
        entry = {
            "time": (START + timedelta(seconds=number)).isoformat(timespec="milliseconds"),
            "page": page, "id": f"{number + 1:016x}", "verdict": verdict, "reason": "unmatched",
            "action": "keep", "of": None, "of_id": None, "distance": None, "resemblance": None,
            "fingerprint": f"{number:016x}", "tokens": 100, **keys,
        }  # fmt: skip
        self.entries.append(entry)
        return entry

    def _event(self, event, **keys):
        self.entries.append({"time": START.isoformat(), "event": event, **keys})

    def begun(self, **settings):
        self._event("begun", version="0.1.0", scrapy="2.19.0", bot="shop", spider="products",
                    store="sqlite:pages.sqlite", preset="best", settings=settings)  # fmt: skip

    def kept(self, page, **keys):
        return self._add(page, "new", **keys)

    def unjudged(self, page, reason="not-html", **keys):
        return self._add(page, "unjudged", reason=reason, **keys)

    def drop(self, page, of, **keys):
        known = {
            "reason": "near", "action": "drop", "of": of["page"], "of_id": of["id"],
            "distance": 1, "resemblance": 0.98,
        }  # fmt: skip
        return self._add(page, "duplicate", **{**known, **keys})

    def orphaned(self, of, pages):
        self._event("orphaned", of=of["page"], of_id=of["id"], count=len(pages), pages=pages)

    def refetched(self, page, *selectors, place="shop.example/product", changing=()):
        changing = list(changing)
        self._event("refetched", page=page, selectors=selectors, place=place, changing=changing)

    def experiment(self, kind, page, showed, followed="", of=None):
        self._event("experiment", kind=kind, page=page, of=of, showed=showed, followed=followed)

    def differ(self, of, difference):
        self._event("differ", of=of["page"], of_id=of["id"], difference=difference)

    def lines(self):
        return [json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in self.entries]

    def write(self, path):
        path.write_bytes(b"".join(self.lines()))
        return path


def shop(products=3, copies=4):
    """Return the audit of a shop: each product under as many session ids, and a feed."""
    audit = Audit()
    for number in range(products):
        page = f"https://shop.example/product/{number}.html"
        words = " ".join(f"word{number}x{place}" for place in range(80))
        kept = audit.kept(page, title=f"Product {number}", headings=["Ours"], text=words)
        for copy in range(copies):
            audit.drop(
                f"{page}?sid={copy}", kept, title=f"Product {number}", headings=["Ours"],
                rule="alike", found="features", threshold=0.9, learnt=[], links=copy,
                text=f"{words} copy{copy}", omitted=[[0, len("word0x0"), "links"]],
            )  # fmt: skip
    audit.unjudged("https://shop.example/feed.json")
    return audit
