import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables.design import Permutation


@given(
    order=st.integers(1, 64).flatmap(lambda bits: st.permutations(range(bits))),
    seed=st.integers(0, 1000),
)
def test_any_order_does_what_moving_each_bit_does(order, seed):
    permutation = Permutation(order)
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 2 ** len(order), (3, 5), dtype=np.uint64, endpoint=False)
    permuted = permutation.apply_many(array)
    assert (permuted.dtype, permuted.shape) == (np.uint64, array.shape)
    for before, after in zip(array.ravel().tolist(), permuted.ravel().tolist(), strict=True):
        bits = "".join(str(before >> position & 1) for position in order)
        assert after == permutation.apply(before) == int(bits, 2)
        assert permutation.invert(after) == before


def test_leading_blocks_come_first_and_the_rest_keeps_its_order():
    permutation = Permutation.leading([0x000000000000FF00, 0xFF00000000000000])
    assert permutation.apply(0x0123456789ABCDEF) == 0xCD0123456789ABEF


@pytest.mark.parametrize("order", [(0, 0), (1, 2), (0, 1, 3), tuple(range(65))])
def test_what_is_no_permutation_of_64_bits_is_refused(order):
    with pytest.raises(ConfigurationError, match="once"):
        Permutation(order)
