"""One table of cases: each row of the judgement, and both sides of each of its edges."""

from __future__ import annotations

from golden_decisions import CASES, MATCHING, arrival, candidate

from scrapy_neardup.evidence.decision import Refusal, Rule, deciding


def test_every_case_decides_as_the_table_says():
    for case in CASES:
        decided = deciding(arrival(case), MATCHING, case.context)(candidate(case))
        assert decided.is_same is (case.rule is not None), case
        assert (decided.rule in set(Refusal)) is not decided.is_same
        if case.rule is not None:
            assert decided.rule == case.rule, case


def test_the_cases_are_of_every_row():
    assert {case.rule for case in CASES} == {None, *Rule} - {Rule.WITHIN_K}
