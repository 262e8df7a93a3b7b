import pytest
from store_registry import PLACES


@pytest.fixture(params=sorted(PLACES))
def place(request):
    """An empty store of each kind."""
    with PLACES[request.param]() as place:
        yield place
