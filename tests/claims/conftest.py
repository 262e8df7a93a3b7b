import pytest
from claimed_site import ClaimedSite


@pytest.fixture
def site():
    return ClaimedSite()
