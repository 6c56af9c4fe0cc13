"""Tables of tuned fleets: ratios of the same seed, and verdicts from them."""

import math
from typing import Any

import pytest

from analysis.papers.claims import Judged
from analysis.papers.tuned_fleets import Fleet, claims, middle, page

SETTING = {"groups": 2, "rate": 0.1, "momentum": 0.6}


def tuning(
    seed: int, tuned: float | None, anew: float | None, best: float, cost: float = 30.0
) -> dict[str, Any]:
    """Return the content of a file `tuning.json`, with times to the target."""
    times = {"tuned": tuned, "tuned-anew": anew, "fixed-sync": 5.5, "fixed-async": None}
    rows = [{"name": name, "seconds": seconds} for name, seconds in times.items()]
    rows.append({"name": "exhaustive", "seconds": best, "setting": SETTING, "cost_seconds": 200.0})
    costs = {"probes": {"seconds": cost}}
    return {"seed": seed, "setting": SETTING, "comparison": rows, "costs": costs}


OURS = [tuning(1, 5.44, 5.5, 4.56), tuning(2, 4.15, 7.88, 3.19), tuning(3, 4.01, 6.78, 4.15)]
PAPER = [tuning(1, 9.56, None, 8.65), tuning(2, None, None, 6.66), tuning(3, 9.56, None, 8.22)]
EPOCH = {"what": "epoch", "seconds": 100.0}
TRAINED = [
    *({"what": "probe", "seconds": 10.0}, {"what": "final", "seconds": 10.0}, EPOCH),
    *({"what": "pruned"}, {"what": "probe", "seconds": 25.0}, EPOCH),
    {"what": "probe", "seconds": 1000.0},
]


def line(made: str, begin: str) -> list[str]:
    """Return the cells of the line of `made` that begins with `begin`."""
    (found,) = (row for row in made.splitlines() if row.startswith(f"| {begin} |"))
    return [cell.strip() for cell in found.strip("|").split("|")][1:]


def told(judged: list[Judged], begin: str) -> tuple[str, str]:
    """Return verdict and numbers of the only claim that begins with `begin`."""
    (found,) = (one for one in judged if one.claim.claim.startswith(begin))
    return found.verdict, found.measured


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
