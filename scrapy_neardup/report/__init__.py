"""Web pages about verdicts, from an audit's lines to one self-contained page.

All functions go from lines to text; the caller opens and writes files. Everything that comes from
a crawled page is hostile. It enters the report only as JSON in a script element that isn't run
(`overview.inert`), and the report's script shows it as text, never as markup::

    lines ─ summary.entries ─> entries ─ Summary.add ─> Summary ─ report_page ─> page
"""
