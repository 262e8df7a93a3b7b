import pytest
from redis_servers import RedisServer
from store_registry import PLACES


@pytest.fixture(params=sorted(PLACES))
def place(request):
    """An empty store of each kind."""
    with PLACES[request.param]() as place:
        yield place


@pytest.fixture
def uri():
    """An empty cluster."""
    with PLACES["redis-cluster"]() as place:
        yield place.uri


@pytest.fixture
def server():
    """A Redis of the test's own."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def path(tmp_path):
    """A file to be made."""
    return tmp_path / "pages.db"
