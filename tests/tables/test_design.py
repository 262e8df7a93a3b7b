from itertools import combinations
from math import comb
from operator import gt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.tables import TableDesign, cuts
from scrapy_neardup.tables.design import Permutation

# Manku, Jain & Das Sarma 2007, Example 3.1: 64 bits, k = 3, 2^34 fingerprints.
EXAMPLE_3_1 = [
    pytest.param((6,), 20, {31, 32, 33}, 2**3, id="20 tables"),
    pytest.param((4, 4), 16, {28}, 2**6, id="16 tables"),
    pytest.param((5,), 10, {25, 26}, 2**9, id="10 tables"),
    pytest.param((4,), 4, {16}, 2**18, id="4 tables"),
]


@pytest.mark.parametrize(("levels", "tables", "prefixes", "retrieved"), EXAMPLE_3_1)
def test_the_designs_of_the_paper(levels, tables, prefixes, retrieved):
    design = cuts.nested(3, levels=levels)
    assert len(design.tables) == tables
    assert {table.prefix_bits for table in design.tables} == prefixes
    assert design.prefix_bits == min(prefixes)
    assert max(table.expected_retrieved(34) for table in design.tables) == retrieved
    assert design.expected_retrieved(34) == sum(
        2.0 ** (34 - table.prefix_bits) for table in design.tables
    )
    assert design.probes == tables
    assert cuts.fewest(3, prefix_bits=min(prefixes)) == design
    if min(prefixes) != 31:  # 31 bits take 20 tables, 32 many more; see below
        assert len(cuts.fewest(3, prefix_bits=min(prefixes) + 1).tables) > tables


@pytest.mark.parametrize(
    ("blocks", "widths"), [(6, [11, 11, 11, 11, 10, 10]), (5, [13, 13, 13, 13, 12]), (4, [16] * 4)]
)
def test_blocks_are_as_even_as_they_can_be_and_the_wider_ones_lead(blocks, widths):
    tables = cuts.nested(blocks - 1, levels=(blocks,)).tables
    masks = [mask for table in tables for mask in table.blocks]
    assert [mask.bit_count() for mask in masks] == widths
    assert masks == sorted(masks, reverse=True)
    assert sum(masks) == 2**64 - 1


def test_nested_blocks_are_cut_from_what_the_first_choice_left():
    first, *_ = cuts.nested(3, levels=(4, 4)).tables
    assert first.blocks == (0xFFFF000000000000, 0x0000FFF000000000)
    assert Permutation.leading(first.blocks).apply(0x0123456789ABCDEF) == 0x0123456789ABCDEF


@given(bits=st.integers(4, 20), max_distance=st.integers(1, 3), prefix_bits=st.integers(1, 16))
def test_no_uniform_nesting_needs_fewer_tables_than_the_recursion(bits, max_distance, prefix_bits):
    nested = []
    for depth in (1, 2):
        for levels in combinations(range(max_distance + 1, 9), depth):
            try:
                design = cuts.nested(max_distance, levels=levels, bits=bits)
            except ConfigurationError:
                continue
            if design.prefix_bits >= prefix_bits:
                nested.append(len(design.tables))
    try:
        fewest = cuts.fewest(max_distance, prefix_bits=prefix_bits, bits=bits)
    except ConfigurationError:
        assert not nested
    else:
        assert fewest.prefix_bits >= prefix_bits
        assert len(fewest.tables) <= min(nested, default=len(fewest.tables))


# Every kind of design, on so few bits that all differences can be tried.
OF_14_BITS = [
    *(
        design
        for k in range(4)
        for design in cuts.designs(bits=14, max_distance=k, log2_pages=14, max_tables=100)
    ),
    cuts.nested(1, levels=(2, 2, 3), bits=14),
    cuts.nested(2, levels=(3, 4), bits=14),
]


def named(design):
    return f"{design.max_distance} {design.name}"


def missed(design, distance):
    """Whether each set of so many bits, if it is flipped, leaves no prefix within reach."""
    for flipped in combinations(range(design.bits), distance):
        mask = sum(1 << bit for bit in flipped)
        changed = [(mask & table.prefix_mask).bit_count() for table in design.tables]
        yield all(map(gt, changed, (table.radius for table in design.tables)))


@pytest.mark.parametrize("design", OF_14_BITS, ids=named)
def test_k_bits_and_no_more_leave_a_prefix_within_reach_whichever_differ(design):
    for distance in range(design.max_distance + 1):
        assert not any(missed(design, distance))
    assert any(missed(design, design.max_distance + 1))


@pytest.mark.parametrize("k", range(11))
def test_listed_designs_trade_tables_for_prefix_bits(k):
    designs = cuts.designs(max_distance=k, log2_pages=34, max_tables=64)
    sizes = [len(design.tables) for design in designs]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] <= 64
    unprobed = [design for design in designs if design.probes == len(design.tables)]
    assert [design.prefix_bits for design in unprobed] == sorted({d.prefix_bits for d in unprobed})
    assert k == 0 or k + 1 in sizes
    for design in designs:
        blocks = [table.blocks for table in design.tables]
        assert len(set(blocks)) == len(blocks)
        for table in design.tables:
            assert sum(mask.bit_count() for mask in table.blocks) == table.prefix_bits


def test_the_list_for_the_paper_names_its_designs():
    designs = cuts.designs(bits=64, max_distance=3, log2_pages=34, max_tables=64)
    by_tables = {len(design.tables): design.name for design in designs}
    assert by_tables == {
        2: "C(2,1) within 1",
        3: "C(3,1) within 1",
        4: "C(4,1)",
        10: "C(5,2)",
        16: "C(4,1) x C(4,1)",
        20: "C(6,3)",
        32: "C(6,3) | C(6,3) x C(4,1)",
        35: "C(7,4)",
    }


@pytest.mark.parametrize("k", range(11))
def test_a_probing_design_counts_its_look_ups(k):
    for blocks in range(1, k + 2):
        design = TableDesign.probing(k, blocks=blocks)
        assert len(design.tables) == blocks
        assert sum(table.radius + 1 for table in design.tables) == k + 1
        assert design.probes == sum(
            comb(table.prefix_bits, flips)
            for table in design.tables
            for flips in range(table.radius + 1)
        )
    assert TableDesign.probing(k, blocks=k + 1).tables == (cuts.nested(k, levels=(k + 1,)).tables)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cuts.nested(3, levels=(3,)), "4 blocks or more"),
        (lambda: cuts.nested(3, levels=(65,)), "64 bits can't be cut into 65"),
        (lambda: cuts.nested(3, levels=()), "4 blocks or more"),
        (lambda: cuts.nested(3, levels=(6, 3)), "4 blocks or more"),
        (lambda: TableDesign.probing(3, blocks=5), "1 to 4 blocks"),
        (lambda: TableDesign.probing(3, blocks=0), "1 to 4 blocks"),
        (lambda: cuts.fewest(3, prefix_bits=62), "has prefixes of 62 bits"),
        (lambda: cuts.nested(-1, levels=(3,)), "max_distance must be a whole number"),
        (lambda: cuts.nested(1.5, levels=(3,)), "max_distance must be a whole number"),
        (lambda: cuts.fewest(-1, prefix_bits=8), "max_distance must be a whole number"),
        (lambda: TableDesign.online(-1, 100), "max_distance must be a whole number"),
        (lambda: cuts.designs(max_distance=-1), "max_distance must be a whole number"),
    ],
)
def test_impossible_designs_are_refused(make, said):
    with pytest.raises(ConfigurationError, match=said):
        make()
