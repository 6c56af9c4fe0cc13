"""Made-up results of the tuner, and readers of the tables made of them."""

from typing import Any

from analysis.papers.claims import Judged

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
