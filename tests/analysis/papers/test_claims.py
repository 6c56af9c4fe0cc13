"""Claims of studies, judged by runs of a few records: verdicts, and the numbers that decide."""

from pathlib import Path

import pytest

from analysis.papers import claims, results
from analysis.papers.claims import judge, total
from analysis.papers.declaration import Claim, Values, declared
from analysis.papers.folder import open_study
from analysis.papers.results import Results
from tests.fakes.runs.made_up_study import BETTER, GOOD, Key, played, training

DENSE, SPARSE = training(BETTER, 100, 0), training(BETTER, 1, 2)
POOR = training(GOOD[:2], 1, 2)


def judged(folder: Path, claim: Claim) -> tuple[str, str]:
    """Return verdict and measured numbers of `claim` by the study in `folder`."""
    assert claim.of
    found = claims._judge(Results(open_study(folder)), claim, claim.of)
    return found.verdict, found.measured


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two worlds: AdaComp pushes 25.6 times fewer bytes in one, and never arrives in the other."""
    entries: dict[Key, list[list[dict]]] = {
        ("few", "ASGD", "0.1"): [DENSE] * 3,
        ("few", "AdaComp", "0.1"): [SPARSE] * 3,
        ("many", "ASGD", "0.1"): [DENSE] * 3,
        ("many", "AdaComp", "0.1"): [POOR] * 3,
    }
    return played(tmp_path_factory.mktemp("folder"), "headline", entries)


RATIO = Values("pushed to 97%", "AdaComp", "ASGD")


def test_a_ratio_in_each_world(folder: Path) -> None:
    claim = Claim("fewer", "all-at-least", of=RATIO, bound=20)
    assert judged(folder, claim) == ("partly", "25.6 × (few), – (many)")


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ASGD reaches 97 % with one seed of three; it pushed 8,200 B with it, 4,100 B without."""
    entries: dict[Key, list[list[dict]]] = {
        ("few", "ASGD", "0.1"): [DENSE, *[training(GOOD[:2], 100, 0)] * 2],
        ("few", "AdaComp", "0.1"): [SPARSE] * 3,
    }
    return played(tmp_path_factory.mktemp("late"), "headline", entries)


def test_a_ratio_to_an_entry_that_never_arrives_is_a_lower_bound(late: Path) -> None:
    told = "more than 12.8 ×"
    for bound, verdict in ((12.0, "reproduced"), (13.0, "not")):
        claim = Claim("fewer", "all-at-least", of=RATIO, bound=bound)
        assert judged(late, claim) == (verdict, told)
    assert judged(late, Claim("few", "mean-at-least", of=RATIO, bound=12)) == ("reproduced", told)


@pytest.mark.parametrize("rule", ["all-at-most", "mean-at-most", "all-within"])
def test_a_lower_bound_bears_out_no_rule_that_asks_for_less(late: Path, rule: str) -> None:
    claim = Claim("fewer", rule, of=RATIO, bound=1000)
    assert judged(late, claim) == ("not", "more than 12.8 ×")


def test_a_table_tells_a_lower_bound(late: Path) -> None:
    found = Results(open_study(late))
    (row,) = [row for row in found.study.rows if row.entry == "AdaComp"]
    assert found.cell(row, "fewer pushed to 97%") == "more than 12.8"
    assert found.cell(row, "fewer updates/s to 97%") == "–", "a rate is no cost"
    assert found.cell(row, "gain updates to 97%") == "–"


def test_a_ratio_in_one_world(folder: Path) -> None:
    claim = Claim("fewer", "all-at-least", of=RATIO, bound=20, worlds=["few"])
    assert judged(folder, claim) == ("reproduced", "25.6 ×")
    claim = Claim("fewer", "all-at-least", of=RATIO, bound=30, worlds=["few"])
    assert judged(folder, claim) == ("not", "25.6 ×")


def test_an_entry_that_was_not_played_bears_out_nothing(folder: Path) -> None:
    of = Values("pushed to 97%", "AdaComp 1 %", "ASGD")
    assert judged(folder, Claim("fewer", "all-at-least", of=of, bound=1))[0] == "not"


def test_a_gain_over_the_same_entry_in_another_world(folder: Path) -> None:
    of = Values("best", "AdaComp", {"world": "few"}, "gain")
    claim = Claim("as good", "all-at-least", of=of, bound=-0.01)
    # the world itself is not compared with itself; 90 % against 98.6 %
    assert judged(folder, claim) == ("not", "−8.60 points")


def test_a_value_without_a_comparison(folder: Path) -> None:
    of = Values("updates to 97%", ["ASGD", "AdaComp"])
    claim = Claim("arrives", "all-at-most", of=of, bound=20, worlds=["few"])
    assert judged(folder, claim) == ("reproduced", "20 (few: ASGD), 20 (few: AdaComp)")


def test_a_reason_stands_beside_a_claim_that_is_not_reproduced(folder: Path) -> None:
    for bound, told in ((30.0, "25.6 ×; indices cost bytes"), (20.0, "25.6 ×")):
        claim = Claim(
            "fewer",
            "all-at-least",
            "p. 1",
            RATIO,
            ["few"],
            bound=bound,
            reason="indices cost bytes",
        )
        found = claims._judge(Results(open_study(folder)), claim, RATIO)
        assert found.line == ["fewer", "p. 1", found.verdict, told]


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid over c: 98.6 % with everything sent, 98.6 % at 1 %, 90 % at 0.1 %."""
    entries: dict[Key, list[list[dict]]] = {
        ("w", "AdaComp, c = 100%", "0.1"): [DENSE],
        ("w", "AdaComp, c = 1%", "0.1"): [SPARSE],
        ("w", "AdaComp, c = 0.1%", "0.1"): [POOR],
    }
    return played(tmp_path_factory.mktemp("grid"), "headline", entries)


def test_a_sequence_along_a_grid(grid: Path) -> None:
    of = Values("best", "AdaComp")
    verdict, measured = judged(grid, Claim("falls", "falls", of=of, along="c"))
    assert verdict == "reproduced"
    assert measured == "98.60 % (c = 100%), 98.60 % (c = 1%), 90.00 % (c = 0.1%)"
    assert judged(grid, Claim("rises", "rises", of=of, along="c"))[0] == "not"


def test_a_sequence_along_the_worlds(folder: Path) -> None:
    claim = Claim("falls", "falls", of=Values("best", "AdaComp"), along="worlds")
    assert judged(folder, claim) == ("reproduced", "98.60 % (few), 90.00 % (many)")


def test_the_paper_of_adacomp_is_judged_by_its_runs(folder: Path) -> None:
    names = list(declared("headline").claims)
    found = judge(Results(open_study(folder)))
    assert len(found) == len(names)
    assert total(found) == "not"
    assert total([]) == ""


def test_words_of_differences() -> None:
    shown = results.measure("ended")
    assert results.in_words(0.004, shown, "gain") == "+0.40 points"
    assert results.in_words(float("nan"), shown, "ratio") == "–"
