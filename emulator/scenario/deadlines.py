"""Warnings for devices that cannot finish a round of local training before the round ends.

A round (`fedavg`, `local-sgd`) ends after its `patience`. The server refuses the update of a device
that needs longer, unless no other device sent an update either.
"""

from dataclasses import dataclass

from ..codecs import Dense
from ..pulls import WholeModel as Whole
from ..synchronization import FedAvg, LocalSGD
from ..units import Seconds
from .demand import Shortfall
from .devices import Group
from .model import Scenario


@dataclass(frozen=True)
class StepTime:
    """The mean time of a mini-batch on a whole core."""

    seconds: float
    source: str
    """Where `seconds` comes from, for example `virtual.step` or a calibration."""


def late_groups(scenario: Scenario, step: StepTime | None) -> list[Shortfall]:
    """Return a warning for every group of devices that need longer than a round of `scenario`.

    `step` None means that no step time is known: the only warning says so.
    """
    rounds = scenario.training.synchronization
    if not isinstance(rounds, FedAvg | LocalSGD):
        return []
    if step is None:
        text = (
            f"rounds: whether {_work(scenario)} fit into patience {rounds.patience} is unknown on "
            "this host: `emulate calibrate FILE` measures how long a mini-batch takes"
        )
        return [Shortfall("warning", text)]
    texts = (_warning(scenario, group, step, rounds.patience) for group in scenario.devices)
    return [Shortfall("warning", text) for text in texts if text]


def _warning(scenario: Scenario, group: Group, step: StepTime, patience: Seconds) -> str:
    share = 1.0 if group.profile is None or group.profile.cpu is None else group.profile.cpu
    compute = _batches(scenario) * step.seconds / min(1.0, share)
    carried = _carried(scenario, group)
    if compute + carried <= patience:
        return ""
    return (
        f"rounds: {group.name}: {_work(scenario)} take about {_about(compute)} ({step.source}), "
        f"their messages {_about(carried)}, longer than patience {patience}: updates come too late "
        "and are refused, except in rounds in which no device is in time: make patience longer, or "
        "let a device do less between two rounds"
    )


def _carried(scenario: Scenario, group: Group) -> float:
    """Return a lower bound, in seconds, on the time that a model and an update take on the link of
    one device of `group`.

    A message counts 0 bytes where its size depends on the gradient's values (sparse updates,
    delta pulls).
    """
    training, model = scenario.training, 4 * scenario.training.layout.size
    pull = group.link.down.transfer(model if training.pull == Whole() else 0)
    return pull + group.link.up.transfer(model if training.codec == Dense() else 0)


def _batches(scenario: Scenario) -> int:
    """Return the number of mini-batches in a round of a device with a mean share of examples."""
    training = scenario.training
    examples = training.data.sizes["train"] // len(scenario.nodes)
    return training.local.batches(examples, training.batch_size)


def _work(scenario: Scenario) -> str:
    epochs = scenario.training.local.epochs
    batches = f"{_batches(scenario):,} mini-batches"
    return f"{epochs} epoch{'s' * (epochs > 1)} ({batches})" if epochs else batches


def _about(seconds: float) -> str:
    return str(Seconds(float(f"{seconds:.2g}")))
