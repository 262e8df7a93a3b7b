import pytest

from scrapy_neardup.tables import index as tables_index
from scrapy_neardup.tables.buckets import Buckets, PureBuckets


@pytest.fixture(
    params=dict.fromkeys([PureBuckets, Buckets]),
    ids=lambda way: way.__module__,
    scope="module",
)
def both_ways(request):
    """Run a module's tests of the index with pure buckets, and with compiled ones if there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables_index, "Buckets", request.param)
        yield
