"""What the long randomised tests share."""

import pytest
from crawl_fixtures import crawl, site, worker  # noqa: F401, fixtures
from tried import row


@pytest.fixture
def tried(record_property):
    """Note a row of the table; see `row`."""

    def note(what, times, **counts):
        record_property("tried", row(what, times, **counts))

    return note
