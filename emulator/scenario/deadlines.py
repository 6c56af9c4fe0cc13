"""Warnings for devices that cannot finish an update before the run, or its round, ends.

A round (`fedavg`, `local-sgd`) ends after its `patience`. The server refuses the update of a device
that needs longer, unless no other device sent an update either. A run without any update fails.
"""

from dataclasses import dataclass

from ..codecs import Dense
from ..pulls import WholeModel as Whole
from ..schedules import Sequential
from ..synchronization import ComputeGroups, FedAvg, LocalSGD
from ..units import Seconds
from ..world.link import Side
from ..world.link_course import side_course
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


def too_short(scenario: Scenario, step: StepTime | None) -> list[Shortfall]:
    """Return a warning if no device of `scenario` can make an update before `stop.time`.

    `step` None counts as no time. A link that changes by itself counts as its fastest moment.
    """
    if scenario.stop.time is None:
        return []
    training = scenario.training
    # layers are computed while others travel, and a group deals its mini-batch over its devices
    apart = training.cutting == Sequential() and not isinstance(
        training.synchronization, ComputeGroups
    )
    batch = step.seconds * _batches(scenario) if step and apart else 0.0
    times = {
        group.name: batch / _core(group) + _first(scenario, group) for group in scenario.devices
    }
    fastest = min(times, key=times.__getitem__)
    if times[fastest] <= scenario.stop.time:
        return []
    text = (
        f"stop.time {scenario.stop.time} is too short for any update, so the run will fail: the "
        f"first update of {fastest} takes about {_about(times[fastest])} with the model that it is "
        "computed on: make stop.time longer, or links faster"
    )
    return [Shortfall("warning", text)]


def _warning(scenario: Scenario, group: Group, step: StepTime, patience: Seconds) -> str:
    compute = _batches(scenario) * step.seconds / _core(group)
    carried = _carried(scenario, group)
    if compute + carried <= patience:
        return ""
    return (
        f"rounds: {group.name}: {_work(scenario)} take about {_about(compute)} ({step.source}), "
        f"their messages {_about(carried)}, longer than patience {patience}: updates come too late "
        "and are refused, except in rounds in which no device is in time: make patience longer, or "
        "let a device do less between two rounds"
    )


def _core(group: Group) -> float:
    """Return the share of a core that a worker of `group` can use."""
    cpu = None if group.profile is None else group.profile.cpu
    return 1.0 if cpu is None else min(1.0, cpu)


def _carried(scenario: Scenario, group: Group) -> float:
    """Return a lower bound, in seconds, on the time that a model and an update take on the link of
    one device of `group`.

    A message counts 0 bytes where its size depends on the gradient's values (sparse updates,
    delta pulls).
    """
    training, model = scenario.training, 4 * scenario.training.layout.size
    pull = group.link.down.transfer(model if training.pull == Whole() else 0)
    return pull + group.link.up.transfer(model if training.codec == Dense() else 0)


def _first(scenario: Scenario, group: Group) -> float:
    """Return a lower bound, in seconds, on the transfers of the first model and the first update.

    The first model is whole in every coding of pulls.
    """
    training, server = scenario.training, scenario.server.link
    entries = training.device_layout.size
    pull = entries * (2 if training.pull.values == "f16" else 4)
    push = entries * 4 if training.codec == Dense() else 0
    ways = (group.link.down, server.up, pull), (group.link.up, server.down, push)
    return sum(max(_least(own, size), _least(far, size)) for own, far, size in ways)


def _least(side: Side, size: int) -> float:
    if not side.changes:
        return side.transfer(size)
    return min(each.transfer(size) for each in side_course(side).sides)


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
