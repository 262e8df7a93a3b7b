"""Lines made of what clocks are made of."""

from __future__ import annotations

from hypothesis import strategies as st

_NUMBERS = (
    "0", "1", "5", "12", "31", "20", "59", "1999", "2024", "00", "123", "1,234", "0.3", "\u0663",
    "1st", "2nd", "5th",
)  # fmt: skip
_SIGNS = (
    "-", "/", ".", ",", ":", "#", "+", "_", "(", "T", "Z", "\n", "\u00a0", "\u2003", "\u0301",
    "\u201c", "中", "😀",
)  # fmt: skip
_WORDS = (
    "ago", "am", "p.m.", "ms", "sec", "hours", "days", "month", "years", "\u00b5s", "\u03bcs",
    "\u039cs", "s", "\u017f", "m\u017f", "quer\u0131es", "hit", "Visits", "visitors:", "VIEWS",
    "user", "guest", "Members", "download", "ONLINE", "v\u0130ews", "no", "no.", "Number", "nr.",
    "March", "Mar.", "марта", "word", "KiB", "\u212aB", "mb",
)  # fmt: skip
_pieces = st.one_of(*map(st.sampled_from, (_NUMBERS, _NUMBERS, _SIGNS, _WORDS, " ", " ")))

clocklike = st.lists(_pieces, max_size=9).map("".join)
"""A line that may be a clock, or nearly so."""
