"""What pages say makes no name of a stat, hence no metric and no label of Prometheus."""

import re
from urllib.parse import quote

from crawl_spiders import Visit
from site_server import Answer, page, text


def test_no_page_makes_a_name_of_a_stat(crawl, site):
    odd = '"}\\n# {x="\N{RIGHT-TO-LEFT OVERRIDE}'
    for number in range(12):
        site.routes[f"/{number}/{quote(odd)}"] = page(text("a"), title=f"{odd}{number}")
        headers = {"Content-Type": f"application/json; x={number}"}
        site.routes[f"/json/{number}"] = Answer("{}", headers=headers)
    paths = [f"/{number}/{quote(odd)}" for number in range(12)]
    outcome = crawl(Visit, *paths, *(f"/json/{number}" for number in range(12)))
    names = [name for name in outcome.stats if name.startswith("neardup/")]
    assert len(outcome.notes) > 12
    assert len(names) < 12
    assert all(re.fullmatch("neardup(/[a-z0-9-]+){2}", name) for name in names)
