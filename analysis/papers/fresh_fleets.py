"""Tables of docs/tune.md: choices of `emulate tune` on fleets that had no part in finding its rule.

The fleets are drawn, played and judged by `tests/benchmarks/tuning/fresh_fleets.py`. A setting's
time is the median of its times to the target over the seeds, since a single run's time is noise.
Each seed's tuning makes a choice; its ratio is the time of the choice over the least time of a
setting of the grid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ..quantities import percent
from .claims import Judged
from .declaration import Claim
from .host_measurements import judge_values
from .markdown import table
from .tuned_fleets import middle, named, ratio_words

NEAR, FAR, CHEAP = 1.10, 1.5, 0.2
"""Largest median and largest single ratio, and largest cost of the probes over that of the
exhaustive search with the same seed, at which a claim holds."""

Choice = tuple[int, float, float]
"""Number of groups, learning rate, momentum."""


@dataclass(frozen=True)
class Tuned:
    """The tuning of a fleet with one seed."""

    seed: int
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

    def by_seed(self, rule: str, values: Sequence[float]) -> dict[int, float]:
        """Return the `values` of the tunings by `rule`, by seed."""
        seeds = (tuned.seed for tuned in self.rules[rule])
        return dict(zip(seeds, values, strict=True))


def claims(fleets: Sequence[FreshFleet]) -> list[Judged]:
    """Return the claims on the choices by each rule, and on the cost of their probes."""
    return [each for rule in fleets[0].rules for each in _claims(fleets, rule)]


def _claims(fleets: Sequence[FreshFleet], rule: str) -> list[Judged]:
    ratios, shares = (
        named({f"fleet {fleet.name}": fleet.by_seed(rule, of(fleet, rule)) for fleet in fleets})
        for of in (FreshFleet.ratios, FreshFleet.shares)
    )
    said = f"by the rule {rule}, "
    middles = {f"median of {len(ratios)}": middle([*ratios.values()])}
    return [
        judge_values(
            Claim(
                f"{said}the median choice is within {percent(NEAR - 1, 0)} of the best of the grid",
                "all-at-most",
                bound=NEAR,
            ),
            middles,
            ratio_words,
        ),
        judge_values(
            Claim(
                f"{said}every choice takes at most {FAR:g} times as long as the best of the grid",
                "all-at-most",
                bound=FAR,
            ),
            ratios,
            ratio_words,
        ),
        judge_values(
            Claim(
                f"{said}probes cost at most {percent(CHEAP, 0)} of the exhaustive search with the "
                "same seed",
                "all-at-most",
                bound=CHEAP,
            ),
            shares,
            percent,
        ),
    ]


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
            ", ".join(map(ratio_words, fleet.ratios(rule))),
            percent(median(shares)),
        ]
    return cells


# -- cells -----------------------------------------------------------------------------------------


def _named(choice: Choice) -> str:
    groups, rate, momentum = choice
    return f"{groups}, {rate:g}, {momentum:g}"
