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
from .claim_rules import all_at_most, median_at_most, paired_ratios, word
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


def page(fleets: Sequence[Fleet], trained: Mapping[str, Tuning]) -> str:
    """Return the tables of the page: claims, choices of each fleet, and the cost of a training."""
    parts = [claims(fleets)]
    for fleet in fleets:
        parts += [f"{fleet.about}:", choices(fleet)]
    parts += ["Two epochs of training, with a search before each:", training(trained)]
    return "\n\n".join(parts)


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


def claims(fleets: Sequence[Fleet]) -> str:
    """Return the table of the claims, with a column for each of `fleets`."""
    lines = []
    for paper in (False, True):
        for name, words in (("tuned", "tuned"), ("tuned-anew", "anew")):
            lines += near(paper, words, [fleet.ratios(name, paper=paper) for fleet in fleets])
    lines.append(cheap([fleet.shares for fleet in fleets]))
    return table(["claim", *(fleet.name for fleet in fleets)], lines)


def cheap(shares: Sequence[Mapping[int, float]]) -> list[str]:
    """Return the line of the claim that the probes cost little; `shares` of each fleet, by seed."""
    claim = "probes cost at most a fifth of the exhaustive search with the same seed"
    return [claim, *map(_costs, shares)]


def _costs(shares: Mapping[int, float]) -> str:
    each = ", ".join(f"seed {seed}: {percent(share)}" for seed, share in shares.items())
    return _cell(all_at_most([*shares.values()], CHEAP), each)


def near(paper: bool, words: str, ratios: Sequence[Sequence[float]]) -> list[list[str]]:
    """Return the lines of the claim that a choice is as good as the best, nearly.

    `ratios` has for each fleet the ratios by seed; `words` says from which weights the choice
    begins, and `paper` whether the paper's rule made it.
    """
    rule = "with `--paper`, " if paper else ""
    claim = f"{rule}{words} within {percent(NEAR - 1, 0)} of the best with the same seed"
    return [
        [f"{claim}, each seed", *map(_each, ratios)],
        [f"{claim}, median of the ratios", *map(_middle, ratios)],
    ]


def _each(ratios: Sequence[float]) -> str:
    return _cell(all_at_most(ratios, NEAR), ", ".join(map(_ratio, ratios)))


def _middle(ratios: Sequence[float]) -> str:
    return _cell(median_at_most(ratios, NEAR), _ratio(median(ratios)))


def training(trained: Mapping[str, Tuning]) -> str:
    """Return the table of the cost of a training of two epochs with a search before each.

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
                _cell(all_at_most(shares, CHEAP), ""),
            ]
        )
    columns = ["fleet", "cold start and searches", "two epochs", "share of the training"]
    return table([*columns, "second search, of its epoch", "at most 20 %"], lines)


# -- cells -----------------------------------------------------------------------------------------


def _cell(holds: bool, words: str) -> str:
    verdict = word(holds)
    return f"{verdict} ({words})" if words else verdict


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


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if math.isfinite(ratio) else "missed"


def _beside(seconds: float, ratio: float) -> str:
    return f"{_time(seconds)} ({_ratio(ratio)})" if math.isfinite(seconds) else "missed"
