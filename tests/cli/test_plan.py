import json

import pytest


def planned(call, *args):
    return json.loads(call("plan", "--json", *args).stdout)


@pytest.mark.parametrize(("written", "pages"), [
    ("1", 1), ("1000", 1000), ("1_000_000", 10**6), ("1,000,000", 10**6), ("10M", 10**7),
    ("8e9", 8 * 10**9), ("2.5k", 2500), ("1T", 10**12), ("1e15", 10**15),
])  # fmt: skip
def test_numbers_as_people_write_them(call, written, pages):
    assert planned(call, "--pages", written)["pages"] == pages


def test_the_papers_example(call):
    """Manku et al. 2007, Example 3.1: 2^34 fingerprints, k = 3."""
    designs = planned(call, "--pages", str(2**34), "--max-distance", 3)["designs"]
    found = {design["tables"]: design for design in designs}
    assert set(found[20]["prefix_bits"]) == {31, 32, 33}
    assert set(found[16]["prefix_bits"]) == {28}
    assert set(found[10]["prefix_bits"]) == {25, 26}
    assert found[4]["prefix_bits"] == [16] * 4
    assert found[4]["expected_retrieved"] == 4 * 2**18


@pytest.mark.parametrize("pages", ["1", "8e9"])
@pytest.mark.parametrize("max_distance", range(11))
def test_one_design_is_the_default(call, pages, max_distance):
    result = planned(call, "--pages", pages, "--max-distance", max_distance)
    assert [design["default"] for design in result["designs"]].count(True) == 1
    tables = [design["tables"] for design in result["designs"]]
    assert tables == sorted(tables)
    shown = call("plan", "--pages", pages, "--max-distance", max_distance).stdout
    assert all(design["name"] in shown for design in result["designs"])
    assert shown.count("\n*  ") == 1
