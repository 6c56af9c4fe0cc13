"""The rules of claims: a rule holds for numbers that bear the claim out, and for no others."""

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.papers import claim_rules
from analysis.papers.claim_rules import (
    NOT,
    PARTLY,
    REPRODUCED,
    RULES,
    all_at_least,
    all_at_most,
    all_inside,
    all_within,
    falls,
    least_inside,
    less,
    mean_at_least,
    mean_at_most,
    overall,
    paired_ratios,
    rises,
    verdict,
)
from analysis.papers.declaration import declared, papers
from tests.layers import ROOT

NEVER = math.inf
NAN = math.nan

Rule = Callable[..., bool]
CASES: dict[Rule, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    less: ([(1.0, 2.0), (1.0, NEVER)], [(2.0, 2.0), (NEVER, NEVER), (NEVER, 1.0), (NAN, 1.0)]),
    falls: (
        [([0.9, 0, 0],), ([0.9, 0.9, 0.3],)],
        [
            ([0.9, 0.5, 0.7],),
            ([0.6, 0.3, 0.3, 0, 0.3],),
            ([0.5, 0.5],),
            ([0.5],),
            ([],),
            ([0.9, NAN, 0.3],),
            ([NEVER, 0.9, 0.3],),
        ],
    ),
    rises: (
        [([0, 0, 0.9],), ([0.3, 0.5, 0.9],)],
        [([0.3, 0.2, 0.9],), ([0.5, 0.5],), ([0.5],), ([],), ([0.3, NAN],), ([0.3, NEVER],)],
    ),
    least_inside: (
        [([12.2, 9.9, 9.1, 9.1, 13.6],), ([NEVER, 2.0, NEVER],)],
        [
            ([9.1, 9.1, 13.6],),
            ([3.0, 2.0, 2.0],),
            ([1.0, 2.0, 3.0],),
            ([NEVER] * 3,),
            ([1.0],),
            ([],),
            ([NAN, 1.0, 2.0],),
        ],
    ),
    all_within: (
        [([0.02, -0.03], 0.03)],
        [
            ([0.02, 0.031], 0.03),
            ([-0.04], 0.03),
            ([0.01, NAN], 0.03),
            ([NAN, 0.01], 0.03),
            ([], 0.03),
        ],
    ),
    all_inside: (
        [([(0.4, 0.5, 0.6)],)],
        [([(0.710, 0.750, 0.747)],), ([(0.4, 0.5, 0.6), (NAN, 0.5, NAN)],), ([],)],
    ),
    all_at_least: (
        [([100.0, 200.0], 100)],
        [([99.9, 200.0], 100), ([NAN, 200.0], 100), ([NEVER, 200.0], 100), ([], 100)],
    ),
    mean_at_least: (
        [([-0.02, 0.01], -0.01)],
        [([-0.03, 0.0], -0.01), ([NAN], 0.0), ([NEVER], 0.0), ([], 0.0)],
    ),
    mean_at_most: (
        [([1.0, 3.0], 2)],
        [([1.0, 3.1], 2), ([NAN, 1.0], 2), ([-NEVER], 2), ([], 2)],
    ),
    all_at_most: (
        [([1.15, 0.8], 1.15)],
        [([1.19, 0.97], 1.15), ([1.0, NEVER], 1.15), ([1.0, NAN], 1.15), ([], 1.15)],
    ),
}


@pytest.mark.parametrize("rule", CASES, ids=lambda rule: rule.__name__)
def test_a_rule_holds_and_misses(rule: Rule) -> None:
    holds, misses = CASES[rule]
    assert all(rule(*case) is True for case in holds)
    assert [case for case in misses if rule(*case)] == []


CLAIMS = [
    pytest.param(study, name, id=f"{study}: {name}")
    for names in papers().values()
    for study in names
    for name in declared(study).claims
]


@pytest.mark.parametrize(("study", "name"), CLAIMS)
def test_a_claim_of_a_study_is_judged_both_ways(study: str, name: str) -> None:
    claim = declared(study).claims[name]
    if (bound := claim.bound) is None:
        bearing, others = (cases[0] for cases in CASES[RULES[claim.rule].holds])
    else:
        beyond = bound - 1 if claim.rule.endswith("at-least") else bound + 1
        bearing, others = ([bound],), ([beyond],)
        assert verdict(claim.rule, bound, [bound, beyond]) == (
            PARTLY if RULES[claim.rule].singly else NOT
        )
    assert verdict(claim.rule, bound, *bearing) == REPRODUCED
    assert verdict(claim.rule, bound, *others) == NOT


def test_the_verdict_on_a_whole() -> None:
    assert overall([REPRODUCED, REPRODUCED]) == REPRODUCED
    assert overall([NOT, NOT]) == NOT
    assert overall([REPRODUCED, NOT]) == overall([PARTLY]) == overall([NOT, PARTLY]) == PARTLY
    assert overall([]) == NOT


def test_every_rule_has_cases() -> None:
    tree = ast.parse(Path(claim_rules.__file__).read_text())
    rules = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if ast.unparse(node.returns or tree) == "bool"
    }
    assert {rule.__name__ for rule in CASES} == rules


def test_ratios_are_those_of_the_same_seed_where_medians_would_hold() -> None:
    tuned, best = [5.44, 4.15, 4.01], [4.56, 3.18, 4.15]
    ratios = paired_ratios(tuned, best)
    assert [f"{ratio:.2f}" for ratio in ratios] == ["1.19", "1.31", "0.97"]
    assert sorted(tuned)[1] / sorted(best)[1] == 1.0
    assert paired_ratios([NEVER], [2.0]) == [NEVER]
    assert math.isnan(*paired_ratios([NEVER], [NEVER]))
    with pytest.raises(ValueError, match="zip"):
        paired_ratios([1.0], [1.0, 2.0])


def test_verdicts_of_studies_come_from_the_rules() -> None:
    """No other module of the studies words a verdict of its own."""
    words = ('"holds', '"does not hold', "missed**")
    makers = {
        path.name
        for path in (ROOT / "analysis" / "papers").glob("*.py")
        if any(word in path.read_text() for word in words)
    }
    assert makers == {"claim_rules.py"}
