"""Tables of tuned fleets: ratios of the same seed, and verdicts from them."""

import math

import pytest

from analysis.papers.tuned_fleets import Fleet, claims, middle, page
from tests.fakes.sweeps.tuned_results import OURS, PAPER, TRAINED, line, told, tuning

FLEET = Fleet("half slow", "Slow", OURS, PAPER)


@pytest.fixture
def made() -> str:
    return "\n\n".join(page([FLEET], {"half slow": {"rows": TRAINED}}))


def test_a_median_of_times_that_holds_where_paired_ratios_miss_is_a_miss(made: str) -> None:
    claim = "tuned within 15 % of the best with the same seed"
    judged = claims([FLEET])
    assert told(judged, f"{claim}, each seed") == (
        "partly",
        "0.97 (half slow, seed 3) to 1.30 (half slow, seed 2)",
    )
    assert told(judged, f"{claim}, median of the seeds") == ("not", "1.19 (half slow)")
    assert line(made, "median")[4] == "4.15 (1.19)"
    assert line(made, "1")[2] == "4.56 (2, 0.1, 0.6)"


def test_a_missed_target_misses() -> None:
    claim = "with `--paper`, anew within 15 % of the best with the same seed"
    judged = claims([FLEET])
    assert told(judged, f"{claim}, each seed")[0] == "not"
    assert told(judged, f"{claim}, median of the seeds") == ("not", "missed (half slow)")
    assert math.isnan(middle([1.0, math.nan, 2.0])) and middle([1.0, 2.0, math.inf]) == 2.0


def test_every_seed_decides_on_the_cost_of_the_probes() -> None:
    dear = [*OURS[:2], tuning(3, 4.0, 4.0, 4.0, cost=41.0)]
    claim = "probes cost at most a fifth of the exhaustive search with the same seed"
    assert told(claims([Fleet("x", "X", dear, PAPER)]), claim) == (
        "partly",
        "15.0 % (x, seed 1) to 20.5 % (x, seed 3)",
    )


def test_the_cost_of_a_training_ends_with_the_second_epoch(made: str) -> None:
    cells = ["45.0 s, 3 probes", "100.0 + 100.0 s", "22.5 %", "25.0 s, 25.0 %", "does not hold"]
    assert line(made, "half slow") == cells
