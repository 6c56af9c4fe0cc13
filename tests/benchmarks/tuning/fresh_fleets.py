"""Choices of `emulate tune` on random fleets, beside the exhaustive search, by both rules.

    python -m tests.benchmarks.tuning.fresh_fleets [--fleets judging|finding] [--docs docs]

Protocol. A fleet is drawn by its seed (`random_fleets.py`). Every setting of the grid, the divisors
of the number of devices × the rates 0.1 and 0.01 × the momenta 0, 0.3, 0.6 and 0.9, trains from the
initial weights to the fleet's test loss, with the seeds 1, 2 and 3; a run that takes longer than
120 updates of one group has missed it. The median over the seeds is the setting's time.
`emulate tune` makes a choice with each seed, by both rules. Prints claims and tables of
`analysis/papers/fresh_fleets.py`; with `--docs` puts them into FOLDER/tune.md.

Plays in this process and on one core. Finished fleets and probes are not played again.
"""

import argparse
import json
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from analysis import papers
from analysis.papers.fresh_fleets import Choice, FreshFleet, Tuned, choices, claims
from emulator.costs.prediction import divisors
from emulator.learning import datasets
from emulator.log.records import Record
from emulator.runs.conductor import RunView
from emulator.runs.results import write_json
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario, Timed
from emulator.sweeps import Standing
from emulator.sweeps.deciding_code import deciding_code
from emulator.sweeps.point import Point
from emulator.sweeps.studies.play_study import played_by
from emulator.sweeps.sweep_folder import SweepFolder, opened
from emulator.sweeps.tuning import Setting, TuneOptions, tune
from emulator.sweeps.tuning.grids import full_grid
from emulator.sweeps.tuning.trial_players import ContainerTrials, with_setting
from emulator.world.stop_conditions import SCORED
from tests.benchmarks.tuning.random_fleets import (
    FINDING,
    JUDGING,
    MOST_UPDATES,
    RATES,
    RandomFleet,
    random_fleet,
)

SEEDS = (1, 2, 3)
SETS = {"judging": JUDGING, "finding": FINDING}
RULES = {"default": False, "`--paper`": True}


class _Unseen:
    """View of runs and tunings that shows nothing."""

    def line(self, text: str) -> None: ...

    def progress(self, text: str) -> None: ...

    def standing(self, now: Standing) -> None: ...

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def record(self, record: Record) -> None: ...

    def beat(self, now: float) -> None: ...


def judged(drawn: RandomFleet, out: Path) -> FreshFleet:
    """Play the grid and the tunings of the fleet `drawn`, each with every seed."""
    grid = full_grid(divisors(drawn.devices), RATES)
    played = [_grid(_seeded(drawn, seed), grid, out) for seed in SEEDS]
    times = {
        _choice(setting): [seconds[place][0] for seconds in played]
        for place, setting in enumerate(grid)
    }
    rules = {
        rule: [_tuned(_seeded(drawn, seed), out, paper) for seed in SEEDS]
        for rule, paper in RULES.items()
    }
    spent = [sum(lasted for _, lasted in seconds) for seconds in played]
    return FreshFleet(str(drawn.seed), drawn.about, times, spent, rules)


def _seeded(drawn: RandomFleet, seed: int) -> Scenario:
    return drawn.scenario.model_copy(update={"seed": seed})


def _choice(setting: Setting) -> Choice:
    return setting.groups, setting.rate, setting.momentum


def _grid(scenario: Scenario, grid: Sequence[Setting], out: Path) -> list[tuple[float, float]]:
    """Return the seconds to the target and of the run of each setting, played or recalled."""
    note = out / f"{scenario.name}-{scenario.seed}.json"
    key = [Point("", scenario).digest, deciding_code()]
    if note.exists() and (kept := json.loads(note.read_text()))["key"] == key:
        played = kept["played"]
    else:
        said = f"fresh_fleets: {scenario.name} seed {scenario.seed}: {len(grid)} runs"
        print(said, file=sys.stderr, flush=True)
        with opened(out / "grids") as folder:
            played = [_run(with_setting(scenario, setting), folder) for setting in grid]
        write_json(note, {"key": key, "played": played})
    return [(math.inf if reached is None else reached, lasted) for reached, lasted in played]


def _run(scenario: Scenario, folder: SweepFolder) -> tuple[float | None, float]:
    """Play `scenario`; return the seconds to its target, None if missed, and those of the run."""
    scratch = folder.scratch()
    _, summary = _play(scenario, scratch, _Unseen())
    shutil.rmtree(scratch)
    lasted = summary["duration_s"]
    return (lasted if summary["stop"] in SCORED else None), lasted


def _play(scenario: Scenario, runs: Path, view: RunView) -> tuple[Path, dict[str, Any]]:
    return play(scenario, runs, view, cores=1)


def _tuned(scenario: Scenario, out: Path, paper: bool) -> Tuned:
    """Tune `scenario` in this process, with the rule of the paper or our own."""
    name = f"{scenario.name}-{scenario.seed}-{'paper' if paper else 'default'}"
    view, options = _Unseen(), TuneOptions(rates=RATES, paper=paper)
    with opened(out / name) as folder:
        result = tune(scenario, options, folder, ContainerTrials(folder, view, _play), view)
    return Tuned(
        scenario.seed, _choice(result.setting), result.report["costs"]["probes"]["seconds"]
    )


@contextmanager
def _data_kept() -> Iterator[None]:
    """Keep each data set in memory: thousands of short runs would read it again and again."""
    with patch.object(datasets, "load", lru_cache(datasets.load)):
        yield


def protocol() -> list[str]:
    """Return how the tables below were made."""
    seeds = ", ".join(map(str, SEEDS))
    return [
        f"fleets {JUDGING[0]} to {JUDGING[-1]} of `tests/benchmarks/tuning/random_fleets.py`",
        f"seeds {seeds}",
        f"rates {' and '.join(f'{rate:g}' for rate in RATES)}",
        "from the initial weights to the test loss in the table, at most for "
        f"{MOST_UPDATES} updates of one group",
        "a setting's time is the median over the seeds",
        "virtual time, NumPy learner",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", choices=SETS, default="judging")
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/studies/tune-fresh"))
    asked = parser.parse_args()
    with _data_kept():
        fleets = [judged(random_fleet(seed), asked.out) for seed in SETS[asked.fleets]]
    found, made = claims(fleets), choices(fleets)
    print(*(" | ".join(one.line) for one in found), made, sep="\n")
    if asked.docs:
        papers.publish_measured("tune-fresh", asked.docs, found, [made], protocol(), played_by(1))


if __name__ == "__main__":
    main()
