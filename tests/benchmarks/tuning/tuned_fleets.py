"""Choices of `emulate tune` beside the exhaustive search, on three fleets with three seeds.

    python -m tests.benchmarks.tuning.tuned_fleets [--docs docs] [--out runs/studies/tune]

Tunes each fleet with each seed by both rules, with the baselines, and trains each fleet for two
epochs. Prints the tables; with `--docs` it puts the tables into FOLDER/tune.md. Takes about two
hours of processor time. Finished trials are not played again: the same command goes on.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from analysis import papers
from analysis.papers.tuned_fleets import Fleet, claims, page
from emulator.machine.host import Host
from emulator.sweeps.studies.play_study import played_by
from tests.layers import ROOT

EMULATE = Path(sys.executable).with_name("emulate")
SCENARIOS = ROOT / "scenarios" / "figures"
RATES = ("--rates", "0.1,0.01")
SEEDS = (1, 2, 3)
BASELINES = ("fixed-sync", "fixed-async", "exhaustive")
PROTOCOL = (
    "three fleets, each tuned by both rules with seeds 1, 2 and 3",
    "a ratio is that of emulated times to 91 % test accuracy with the same seed",
    "a training of two epochs with seed 1",
)


class Played(NamedTuple):
    """A fleet that is tuned."""

    name: str
    scenario: str
    about: str
    budget: str
    """Emulated time of a training of two epochs, with the searches before both."""


_EQUAL = "Equal devices, delays of 0.2 ms, at most 5 s"
_SLOW = "Half of the devices four times slower, at most 12 s"
_LINKS = (
    "Links of 50 mbit up and 100 mbit down with delays of 4 ms, 200 mbit at the server, "
    "at most 25 s"
)
FLEETS = (
    Played("equal devices", "omnivore-tune-homogeneous", _EQUAL, "214s"),
    Played("half slow", "omnivore-tune-slow-half", _SLOW, "770s"),
    Played("shaped links", "omnivore-tune-shaped-links", _LINKS, "1200s"),
)


def tuned(fleet: Played, out: Path, *options: str) -> dict[str, Any]:
    """Tune `fleet` with `options` in the folder `out`; return the content of `tuning.json`."""
    file = SCENARIOS / f"{fleet.scenario}.yaml"
    command = [str(EMULATE), "tune", str(file), *RATES, *options, "--out", str(out), "--json"]
    print("tuned_fleets:", fleet.name, *options, file=sys.stderr, flush=True)
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    report: dict[str, Any] = json.loads(said)
    return report


def compared(fleet: Played, out: Path) -> Fleet:
    """Tune `fleet` with each seed by both rules. The rules share the runs of the baselines."""
    baselines = [word for name in BASELINES for word in ("--baseline", name)]
    ours, paper = (
        [
            tuned(fleet, out / f"{fleet.scenario}-{seed}", "--seed", str(seed), *rule, *baselines)
            for seed in SEEDS
        ]
        for rule in ((), ("--paper",))
    )
    return Fleet(
        fleet.name, f"{fleet.about} (`scenarios/figures/{fleet.scenario}.yaml`)", ours, paper
    )


def trained(fleet: Played, out: Path) -> dict[str, Any]:
    """Train `fleet` for two epochs, with a search before each, to no target."""
    sets = ("--set", "stop.accuracy=99%", "--set", "evaluate.every=2000")
    folder = out / f"{fleet.scenario}-trained"
    return tuned(fleet, folder, "--budget", fleet.budget, *sets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/studies/tune"))
    asked = parser.parse_args()
    fleets = [compared(fleet, asked.out) for fleet in FLEETS]
    made = page(fleets, {fleet.name: trained(fleet, asked.out) for fleet in FLEETS})
    print("\n\n".join(made))
    if asked.docs:
        played = played_by(Host.here().cores)
        papers.publish_measured("tune", asked.docs, claims(fleets), made, PROTOCOL, played)


if __name__ == "__main__":
    main()
