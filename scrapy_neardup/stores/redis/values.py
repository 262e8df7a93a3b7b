"""How pages and verdicts are written in Redis.

Rule of this module: pure; plain values, as scripts take and return them. Both Redis stores write
pages alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

from scrapy_neardup.errors import StoreError
from scrapy_neardup.evidence import layout as evidence_layout
from scrapy_neardup.evidence.decision import Compared
from scrapy_neardup.evidence.matching import Matching
from scrapy_neardup.stores.records import partition
from scrapy_neardup.stores.redis.layout import Layout
from scrapy_neardup.verdict import Decision, Match, Page, Reason, Verdict

_DECISIONS = {
    Reason.UNMATCHED: Decision.NEW,
    Reason.CHANGED: Decision.NEW,
    Reason.NEAR: Decision.DUPLICATE,
    Reason.EQUAL: Decision.DUPLICATE,
    Reason.SAME_PAGE: Decision.SEEN,
    Reason.OVERFLOW: Decision.UNJUDGED,
}

_MULTIPLIER, _STEP = 0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03  # both odd, so one to one

_WEIGHING: Final = Struct("<d3B4H")
"""Share of the bins that may differ; whether titles are ignored, the site is young, the folder is;
bytes of changing places, constant places, common words, editions, which follow. Then, where there
is any, the planes of the page's furniture, and those of the furniture that it lacks."""

_MAX_BYTES: Final = 0xFFFF
"""Maximum bytes of a set of numbers: its length is two bytes."""
_COUNTS: Final = Struct(">4I")
_COUNT_AND_LENGTH: Final = Struct(">II")


def key_and_digests(page: Page) -> tuple[int, bytes]:
    """Return the key of `page` in tables, and its digests.

    The digests are 6 bytes: two each of the partition's tag, of title and of content. One in
    65,536 pairs of different titles has equal digests; such a page is judged as if it had the
    other's title. A title never has the digest of none.
    """
    tag, mask = partition(page.scope, page.exact)
    title = page.title & 0xFFFF or min(page.title, 1)
    values = (tag, title, page.content)
    digests = b"".join((value & 0xFFFF).to_bytes(2, "big") for value in values)
    return page.fingerprint ^ mask, digests


def contradict(ours: bytes, theirs: bytes) -> bool:
    """Whether the digests of two pages say that neither repeats the other, whatever their keys."""
    return ours[:2] != theirs[:2] or (ours[2:4] != theirs[2:4] and ours[4:] != theirs[4:])


def id_bytes(page_id: int) -> bytes:
    """Return a page id as scripts take it."""
    return page_id.to_bytes(8, "big")


def url_bytes(page: Page) -> bytes:
    """Return the URL to store, or nothing."""
    return (page.url or "").encode("utf-8", "surrogatepass")


def feature_keys(page: Page, matching: Matching) -> list[bytes]:
    """Return the features of `page` as they are looked up; none where a store looks up none.

    Two of them are equal if the features are, are of one partition, and have the same place among
    their page's features. Their first bytes are spread evenly, however the features are made.
    """
    if not matching.features:
        return []
    _, mask = partition(page.scope, page.exact)
    return [
        ((feature * _MULTIPLIER + place * _STEP) % 2**64 ^ mask).to_bytes(8, "big")
        for place, feature in enumerate(page.features)
    ]


def arrival_words(page: Page, layout: Layout) -> bytes:
    """Return `page` as ``lua/single/check_and_add.lua`` takes it."""
    key, digests = key_and_digests(page)
    features = feature_keys(page, layout.matching)
    compared, known = evidence(page, layout.matching), weighing(page, layout.matching)
    return b"".join(
        (
            bytes((layout.limit(page) + 1, body_kind(compared, bool(features), layout.matching))),
            page.id.to_bytes(8, "big"),
            digests,
            *layout.permuted(key),
            *features,
            compared,
            len(known).to_bytes(4, "big"),
            known,
            url_bytes(page),
        )
    )


def body_kind(compared: bytes, has_features: bool, matching: Matching) -> int:
    """Return the byte that tells scripts the length of evidence and features (``buckets.lua``)."""
    sizes = (0, *matching.evidence_sizes)
    return 2 * sizes.index(len(compared)) + has_features


def read_verdict(page: Page, reply: bytes, bits: int) -> Verdict:
    """Return what ``lua/single/check_and_add.lua`` replies to `page`.

    Raises
    ------
    StoreError
        `reply` is none of its replies.
    """
    match reply[:1]:
        case b"n":
            return verdict(page, Reason.UNMATCHED, witness=reply[1:])
        case b"c":
            return verdict(page, Reason.CHANGED, witness=reply[1:])
        case b"s":
            rule, likeness, _ = _read_why(reply, bits)
            seen = Match(page_id=page.id, distance=reply[1], url=page.url, resemblance=likeness)
            return verdict(page, Reason.SAME_PAGE, seen, rule)
        case b"d":
            rule, likeness, at = _read_why(reply, bits)
            count, length = _COUNT_AND_LENGTH.unpack_from(reply, at + 8)
            url_at = at + 8 + _COUNT_AND_LENGTH.size
            found = matched(
                reply[at : at + 8],
                reply[1],
                reply[url_at : url_at + length],
                count=count,
                resemblance=likeness,
            )
            return verdict(page, near_reason(page), found, rule, reply[url_at + length :])
        case b"o":
            return verdict(page, Reason.OVERFLOW)
    raise StoreError(f"a script answered {reply!r}")


def _read_why(reply: bytes, bits: int) -> tuple[str, float | None, int]:
    """Return rule and resemblance, and the offset of what follows them."""
    end = 3 + reply[2]
    counts = _COUNTS.unpack_from(reply, end + 1) if reply[end] else ()
    return reply[3:end].decode(), resembling(counts, bits), end + 1 + reply[end]


def matched(
    page_id: bytes,
    distance: int,
    url: bytes,
    *,
    count: int,
    resemblance: float | None = None,
) -> Match:
    """Return the entry that a page repeats, as a script names it."""
    return Match(
        page_id=int.from_bytes(page_id, "big"),
        distance=distance,
        url=url.decode("utf-8", "surrogatepass") or None,
        resemblance=resemblance,
        count=count,
    )


def near_reason(page: Page) -> Reason:
    """Return why `page` is a duplicate."""
    return Reason.EQUAL if page.exact else Reason.NEAR


def verdict(
    page: Page, reason: Reason, match: Match | None = None, rule: str = "", witness: bytes = b""
) -> Verdict:
    """Return the verdict on `page`."""
    return Verdict.on(page, _DECISIONS[reason], reason, match, rule, witness)


# ---- what confirms a match -------------------------------------------------------------


def weighing(page: Page, matching: Matching) -> bytes:
    """Return the `Weighing` of `page`, packed; ``b""`` where nothing has to be confirmed."""
    if not (matching.bins and page.evidence):
        return b""
    known = page.weighing
    most = (1 - known.min_resemblance) * (1 - 2.0**-matching.bits)
    planes: list[int] = []
    if len(page.evidence) > evidence_layout.HEAD.size and known.furniture is not None:
        planes.append(known.furniture.plane())
        if (lacked := known.furniture.lacked(matching.bits)) is not None:
            planes += lacked[0], *lacked[1]
        if known.furniture.is_most():
            most = 0.0
    sets = [
        *(_packed(words, 2) for words in (known.changing, known.constant, known.common)),
        _packed(known.editions, 4),
    ]
    flags = known.titles == "ignore", known.young_site, known.young_folder
    packed = (plane.to_bytes(matching.bins // 8, "little") for plane in planes)
    return b"".join([_WEIGHING.pack(most, *flags, *map(len, sets)), *sets, *packed])


def evidence(page: Page, matching: Matching) -> bytes:
    """Return the evidence to store of `page`; ``b""`` where nothing has to be confirmed."""
    return page.evidence if matching.bins else b""


def resembling(counts: Sequence[int], bits: int) -> float | None:
    """Return the resemblance from the counts of texts and cores; None where there are none."""
    if not counts:
        return None
    text, of_text, core, of_core = counts
    return Compared((text, of_text), (core, of_core), (0, 0)).resemblance(bits)


def _packed(numbers: Iterable[int], size: int) -> bytes:
    """Return numbers of `size` bytes each, as many as fit into `_MAX_BYTES`."""
    words = b"".join(number.to_bytes(size, "little") for number in numbers)
    return words[: _MAX_BYTES // size * size]
