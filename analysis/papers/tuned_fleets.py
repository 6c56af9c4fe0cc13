"""Tables of docs/tune.md: choices of `emulate tune` beside the exhaustive search, by seed.

They are made from the files `tuning.json` of the tunings, which
`tests/benchmarks/tuning/tuned_fleets.py` plays. A ratio is that of two times with the same seed;
the ratio of a fleet is the median of these ratios, not the ratio of two medians.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..quantities import percent
from .claim_rules import all_at_most, paired_ratios, word
from .claims import Judged
from .declaration import Claim
from .host_measurements import judge_values
from .markdown import table

NEAR, CHEAP = 1.15, 0.2
"""Largest time of the choice over that of the best setting, and largest cost of the probes over
that of the exhaustive search or of the training, at which a claim holds."""

Tuning = Mapping[str, Any]
"""The content of a file `tuning.json`."""


@dataclass(frozen=True)
class Fleet:
    """The tunings of a fleet, one for each seed, in the same order by both rules."""

    name: str
    about: str
    """Sentence above the table of the choices, without its colon."""
    ours: Sequence[Tuning]
    paper: Sequence[Tuning]
    """By the paper's rule."""

    @property
    def seeds(self) -> list[int]:
        """The seeds of the tunings."""
        return [tuning["seed"] for tuning in self.ours]

    def seconds(self, name: str, *, paper: bool = False) -> list[float]:
        """Return the seconds to the target of the row `name` of the comparison, by seed."""
        tunings = self.paper if paper else self.ours
        found = (_row(tuning, name)["seconds"] for tuning in tunings)
        return [math.inf if seconds is None else float(seconds) for seconds in found]

    def ratios(self, name: str, *, paper: bool = False) -> list[float]:
        """Return the seconds of `name` over those of the exhaustive search, by seed."""
        best = self.seconds("exhaustive", paper=paper)
        return paired_ratios(self.seconds(name, paper=paper), best)

    @property
    def shares(self) -> Mapping[int, float]:
        """Cost of the probes over that of the exhaustive search, by seed."""
        return {
            tuning["seed"]: tuning["costs"]["probes"]["seconds"]
            / _row(tuning, "exhaustive")["cost_seconds"]
            for tuning in self.ours
        }


def page(fleets: Sequence[Fleet], trained: Mapping[str, Tuning]) -> list[str]:
    """Return the tables of the page: choices of each fleet, and the cost of a training."""
    parts = [part for fleet in fleets for part in (f"{fleet.about}:", choices(fleet))]
    return [*parts, "Two epochs of training, with a search for each:", training(trained)]


def choices(fleet: Fleet) -> str:
    """Return the table of the choices: a row for each seed, and one with the medians."""
    columns = ["seed", "fixed-sync", "fixed-async", "best (g, η, μ)"]
    columns += ["choice", "tuned", "anew", "choice, `--paper`", "tuned", "anew"]
    names = ("fixed-sync", "fixed-async", "exhaustive")
    plain = [fleet.seconds(name) for name in names]
    compared = [
        (fleet.seconds(name, paper=paper), fleet.ratios(name, paper=paper))
        for paper in (False, True)
        for name in ("tuned", "tuned-anew")
    ]
    lines = []
    for place, (own, other) in enumerate(zip(fleet.ours, fleet.paper, strict=True)):
        sync, asynchronous, best = (_time(seconds[place]) for seconds in plain)
        tuned, anew, paper_tuned, paper_anew = (
            _beside(seconds[place], ratios[place]) for seconds, ratios in compared
        )
        setting = _setting(_row(own, "exhaustive")["setting"])
        lines.append(
            [
                *(str(own["seed"]), sync, asynchronous, f"{best} ({setting})"),
                *(_setting(own["setting"]), tuned, anew),
                *(_setting(other["setting"]), paper_tuned, paper_anew),
            ]
        )
    tuned, anew, paper_tuned, paper_anew = (
        _beside(median(seconds), median(ratios)) for seconds, ratios in compared
    )
    middles = [_time(median(seconds)) for seconds in plain]
    lines.append(["median", *middles, "", tuned, anew, "", paper_tuned, paper_anew])
    return table(columns, lines)


BySeed = Mapping[int, float]


def claims(fleets: Sequence[Fleet]) -> list[Judged]:
    """Return the claims on the choices by both rules, and on the cost of the probes."""
    found: list[Judged] = []
    for paper in (False, True):
        for name, words in (("tuned", "tuned"), ("tuned-anew", "anew")):
            ratios = {
                fleet.name: dict(zip(fleet.seeds, fleet.ratios(name, paper=paper), strict=True))
                for fleet in fleets
            }
            found += near(paper, words, ratios)
    return [*found, cheap({fleet.name: fleet.shares for fleet in fleets})]


def near(paper: bool, words: str, ratios: Mapping[str, BySeed]) -> list[Judged]:
    """Return the claims that a choice is as good as the best, nearly.

    `ratios` has for each fleet the ratios by seed; `words` says from which weights the choice
    begins, and `paper` whether the paper's rule made it.
    """
    rule = "with `--paper`, " if paper else ""
    claim = f"{rule}{words} within {percent(NEAR - 1, 0)} of the best with the same seed"
    middles = {name: middle([*held.values()]) for name, held in ratios.items()}
    return [
        judge_values(Claim(f"{claim}, {which}", "all-at-most", bound=NEAR), values, ratio_words)
        for which, values in (("each seed", named(ratios)), ("median of the seeds", middles))
    ]


def cheap(shares: Mapping[str, BySeed]) -> Judged:
    """Return the claim that the probes cost little; `shares` of each fleet, by seed."""
    claim = "probes cost at most a fifth of the exhaustive search with the same seed"
    return judge_values(Claim(claim, "all-at-most", bound=CHEAP), named(shares), percent)


def middle(ratios: Sequence[float]) -> float:
    """Return the median of `ratios`; not a number if one of them is none."""
    return math.nan if any(map(math.isnan, ratios)) else median(ratios)


def named(values: Mapping[str, BySeed]) -> dict[str, float]:
    """Return the `values` of fleets by seed, by the name of the fleet and its seed."""
    return {
        f"{fleet}, seed {seed}": value
        for fleet, held in values.items()
        for seed, value in held.items()
    }


def training(trained: Mapping[str, Tuning]) -> str:
    """Return the table of the cost of a training of two epochs with a search for each.

    `trained` has the tuning of each fleet. Searches behind the second epoch do not count: the
    budget ends among them.
    """
    lines = []
    for name, tuning in trained.items():
        rows = tuning["rows"]
        epochs = [place for place, row in enumerate(rows) if row["what"] == "epoch"][:2]
        probes = [row for row in rows[: epochs[-1]] if row["what"] in ("probe", "final")]
        spent = sum(row["seconds"] for row in probes)
        lengths = [rows[place]["seconds"] for place in epochs]
        second = [row for row in rows[epochs[0] : epochs[-1]] if row["what"] == "probe"]
        again = sum(row["seconds"] for row in second)
        shares = [spent / sum(lengths), again / lengths[-1]]
        lines.append(
            [
                name,
                f"{spent:.1f} s, {len(probes)} probes",
                " + ".join(f"{length:.1f}" for length in lengths) + " s",
                percent(shares[0]),
                f"{again:.1f} s, {percent(shares[1])}",
                word(all_at_most(shares, CHEAP)),
            ]
        )
    columns = ["fleet", "cold start and searches", "two epochs", "share of the training"]
    return table([*columns, "second search, of its epoch", "at most 20 %"], lines)


# -- cells -----------------------------------------------------------------------------------------


def _row(tuning: Tuning, name: str) -> Mapping[str, Any]:
    """Return the row `name` of the comparison of `tuning`."""
    found: Mapping[str, Any] = next(row for row in tuning["comparison"] if row["name"] == name)
    return found


def _setting(setting: Mapping[str, Any] | None) -> str:
    if setting is None:
        return "none"
    return f"{setting['groups']}, {setting['rate']:g}, {setting['momentum']:g}"


def _time(seconds: float) -> str:
    return "missed" if math.isinf(seconds) else f"{seconds:.2f}"


def ratio_words(ratio: float) -> str:
    """Return `ratio` with two decimals; `missed` for a target that was not reached."""
    return f"{ratio:.2f}" if math.isfinite(ratio) else "missed"


def _beside(seconds: float, ratio: float) -> str:
    return f"{_time(seconds)} ({ratio_words(ratio)})" if math.isfinite(seconds) else "missed"
