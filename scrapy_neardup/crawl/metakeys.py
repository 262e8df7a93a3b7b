"""The keys of ``request.meta`` that the plugin reads and writes."""

VERDICT_KEY = "neardup"
"""The page's `Verdict`, in ``response.meta``."""

SKIP_KEY = "neardup_skip"
"""True: the page isn't judged; ``"all"``: nor are its descendants."""

KEEP_KEY = "neardup_keep"
"""True: the page is delivered even if it is a near-duplicate."""
