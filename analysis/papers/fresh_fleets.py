"""Tables of docs/tune.md: choices of `emulate tune` on fleets that had no part in finding its rule.

The fleets are drawn, played and judged by `tests/benchmarks/tuning/fresh_fleets.py`. A setting's
time is the median of its times to the target over the seeds, since a single run's time is noise.
Each seed's tuning makes a choice; its ratio is the time of the choice over the least time of a
setting of the grid.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ..quantities import percent
from .claim_rules import all_at_most, median_at_most, word
from .markdown import table

NEAR, FAR, CHEAP = 1.10, 1.5, 0.2
"""Largest median and largest single ratio, and largest cost of the probes over that of the
exhaustive search with the same seed, at which a claim holds."""

Choice = tuple[int, float, float]
"""Number of groups, learning rate, momentum."""


@dataclass(frozen=True)
class Tuned:
    """The tuning of a fleet with one seed."""

    choice: Choice
    seconds: float
    """Emulated seconds of all probes."""


@dataclass(frozen=True)
class FreshFleet:
    """The exhaustive search of a fleet and its tunings, by seed in the same order everywhere."""

    name: str
    about: str
    times: Mapping[Choice, Sequence[float]]
    """Seconds to the target of each setting; infinite where the target was missed."""
    exhaustive: Sequence[float]
    """Emulated seconds of the whole grid."""
    rules: Mapping[str, Sequence[Tuned]]
    """The tunings by each rule."""

    def seconds(self, choice: Choice) -> float:
        """Return the median time of `choice` to the target."""
        return median(self.times[choice])

    @property
    def best(self) -> Choice:
        """The setting with the least median time."""
        return min(self.times, key=self.seconds)

    def ratios(self, rule: str) -> list[float]:
        """Return the time of each seed's choice over that of the best setting."""
        least = self.seconds(self.best)
        return [self.seconds(tuned.choice) / least for tuned in self.rules[rule]]

    def shares(self, rule: str) -> list[float]:
        """Return the cost of each seed's probes over that of the exhaustive search."""
        tunings = zip(self.rules[rule], self.exhaustive, strict=True)
        return [tuned.seconds / whole for tuned, whole in tunings]


def page(fleets: Sequence[FreshFleet], protocol: str) -> str:
    """Return the block of the page: claims, then the fleets, then the line of the `protocol`."""
    return "\n\n".join([claims(fleets), choices(fleets), protocol])


def claims(fleets: Sequence[FreshFleet]) -> str:
    """Return the table of the claims, with a column for each rule."""
    rules = list(fleets[0].rules)
    ratios = {rule: [each for fleet in fleets for each in fleet.ratios(rule)] for rule in rules}
    shares = {rule: [each for fleet in fleets for each in fleet.shares(rule)] for rule in rules}
    lines = [
        [
            f"median of the ratios at most {NEAR:.2f}",
            *(
                _cell(median_at_most(ratios[rule], NEAR), _ratio(median(ratios[rule])))
                for rule in rules
            ),
        ],
        [
            f"every ratio at most {FAR:.2f}",
            *(
                _cell(all_at_most(ratios[rule], FAR), f"worst {_ratio(max(ratios[rule]))}")
                for rule in rules
            ),
        ],
        [
            f"probes cost at most {percent(CHEAP, 0)} of the exhaustive search, each",
            *(
                _cell(all_at_most(shares[rule], CHEAP), f"most {percent(max(shares[rule]))}")
                for rule in rules
            ),
        ],
    ]
    return table(["claim", *rules], lines)


def choices(fleets: Sequence[FreshFleet]) -> str:
    """Return the table of the fleets, with the choices by each rule."""
    rules = list(fleets[0].rules)
    columns = ["fleet", "", "best (g, η, μ)"]
    columns += [head for rule in rules for head in (f"choices, {rule}", "ratios", "probes")]
    return table(columns, [_line(fleet, rules) for fleet in fleets])


def _line(fleet: FreshFleet, rules: Sequence[str]) -> list[str]:
    cells = [fleet.name, fleet.about, f"{fleet.seconds(fleet.best):.3g} s ({_named(fleet.best)})"]
    for rule in rules:
        chosen = dict.fromkeys(_named(tuned.choice) for tuned in fleet.rules[rule])
        shares = fleet.shares(rule)
        cells += [
            "; ".join(chosen),
            ", ".join(map(_ratio, fleet.ratios(rule))),
            percent(median(shares)),
        ]
    return cells


# -- cells -----------------------------------------------------------------------------------------


def _named(choice: Choice) -> str:
    groups, rate, momentum = choice
    return f"{groups}, {rate:g}, {momentum:g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if math.isfinite(ratio) else "missed"


def _cell(holds: bool, words: str) -> str:
    return f"{word(holds)} ({words})"
