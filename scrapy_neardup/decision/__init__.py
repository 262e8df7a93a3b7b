"""Whether two pages are one: what is stored of a page for it, and the sentences that decide."""
