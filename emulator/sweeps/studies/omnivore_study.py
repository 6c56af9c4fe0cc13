"""Study `omnivore`: compute groups, their momentum, and the momentum that asynchrony adds.

Hadjis et al., arXiv 1606.04487; Mitliagkas et al., arXiv 1605.09774.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...costs.prediction import hardware_efficiency
from ...scenario import load
from .entries import Entry, Study

DEVICES = 16
GROUPS = (1, 2, 4, 8, 16)
MOMENTA = ("0", "0.3", "0.6", "0.9")
RATES = ("0.04", "0.08", "0.16", "0.32")
_SYNCHRONOUS_RATE = ("0.16",)
"""The best rate of one group with momentum 0.9, which a fixed strategy keeps for every g."""
_MEASURED_EVERY, _MOST = 5, 1200
"""Group updates between two measurements, and until a run without success ends."""

_SEEDS = {2: 120, 4: 120, 8: 160, 16: 200, 32: 280}
"""Runs by number of asynchronous devices: the step η/g is the harder to find, the smaller it is."""
_PER_GROUP = 0.5
"""Learning rate η of the measurements of momentum, divided by g."""
_MOMENTUM_FILE = "figures/omnivore-momentum.yaml"


def _grouped(groups: int, momentum: str) -> tuple[str, ...]:
    """Return the overrides for `groups` groups and the explicit `momentum`."""
    members = DEVICES // groups
    return (
        f"training.synchronization.groups={groups}",
        f"training.optimizer.momentum={momentum}",
        f"evaluate.every={_MEASURED_EVERY * members}",
        f"stop.updates={_MOST * members}",
    )


def _strategies() -> Iterator[Entry]:
    for groups in GROUPS:
        for momentum in MOMENTA:
            sets = _grouped(groups, momentum)
            yield Entry(f"g = {groups}", f"momentum {momentum}", sets, RATES, seeds=5, short=True)
    sets = _grouped(DEVICES, "0.9")
    yield Entry(f"g = {DEVICES}", "fixed", sets, _SYNCHRONOUS_RATE, seeds=5, short=True)


def _momenta() -> Iterator[Entry]:
    laws = {"exponential": _SEEDS, "constant": {2: 20, 8: 20, 32: 20}}
    for law, counts in laws.items():
        for count, seeds in counts.items():
            step = "{exponential: 100ms}" if law == "exponential" else "100ms"
            yield Entry(
                f"momentum, {law} steps",
                f"g = {count}",
                (f"devices[0].count={count}", f"virtual.step={step}"),
                (f"{_PER_GROUP * count:g}",),
                scenario=_MOMENTUM_FILE,
                seeds=seeds,
                short=True,
            )
    yield Entry(
        "momentum, mnist-cnn",
        "g = 8",
        (
            "training.dataset=mnist",
            "training.model=mnist-cnn",
            "virtual.learner=tensorflow",
            "measure.momentum.examples=30",
            "stop.updates=150",
        ),
        ("0.04",),
        scenario=_MOMENTUM_FILE,
        seeds=10,
        short=True,
    )


def predictions(file: Path) -> dict[str, Any]:
    """Return HE by formula and by queue for the groups of the scenario `file`, as JSON types."""
    known = hardware_efficiency(load(file), GROUPS, lambda step: None)
    return {"hardware": [asdict(known.predicted(groups)) for groups in GROUPS]}


OMNIVORE = Study(
    name="omnivore",
    about="compute groups and momentum, 16 devices; implicit momentum, 2 to 32 devices",
    scenario="figures/omnivore-groups.yaml",
    entries=(*_strategies(), *_momenta()),
    target=0.95,
    plans=predictions,
)
