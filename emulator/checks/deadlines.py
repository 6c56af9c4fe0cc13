"""Warnings for devices that cannot finish an update before the run, or its round, ends.

A round (`fedavg`, `local-sgd`) ends after its `patience`. The server refuses the update of a device
that needs longer, unless no other device sent an update either. Where devices wait for each other,
`patience` counts from the first update: a device that needs so much longer than the fastest is left
out of steps. A run without any update fails.
"""

from collections.abc import Iterable

from ..core.cut.cut_exchange import PATIENCE
from ..costs.compute_groups import compute_groups
from ..costs.exchange import lower_bounds
from ..errors import counted
from ..learning.datasets.split import Iid, Mixture, Shards
from ..scenario.model import Scenario
from ..scenario.sections.devices import Group
from ..scenario.timeouts import largest_at_the_cut
from ..schedules import Sequential
from ..synchronization import Barrier, ComputeGroups, FedAvg, LocalSGD
from ..units import Seconds
from ..world.cpu_quota import least_seconds
from .finding import Finding, StepTime

SYNCHRONIZATION = "training.synchronization"


def late_groups(scenario: Scenario, step: StepTime | None) -> list[Finding]:
    """Return a warning for every group of devices whose updates come later than the `patience` of
    the scenario's synchronization.

    `step` None means that no step time is known: of rounds the only warning says so, of others
    links alone count.
    """
    rounds = scenario.training.synchronization
    if not isinstance(rounds, FedAvg | LocalSGD):
        late = [Finding("warning", SYNCHRONIZATION, text) for text in _left_out(scenario, step)]
        return [*late, *_late_answers(scenario)]
    if step is None:
        text = (
            f"rounds: whether {_work(scenario)} fit into patience {rounds.patience} is unknown on "
            "this host: `emulate calibrate FILE` measures how long a mini-batch takes"
        )
        return [Finding("warning", SYNCHRONIZATION, text)]
    bounds = lower_bounds(scenario)
    texts = (
        _warning(scenario, group, step, rounds.patience, bounds[group.name].seconds())
        for group in scenario.devices
    )
    return [Finding("warning", SYNCHRONIZATION, text) for text in texts if text]


def too_short(scenario: Scenario, step: StepTime | None) -> list[Finding]:
    """Return a warning if no device of `scenario` can make an update before `stop.time`.

    `step` None counts as no time. A link that changes by itself counts as its fastest moment, a
    random time as its shortest draw, and a CPU quota as a budget that is whole at the beginning.
    """
    if scenario.stop.time is None:
        return []
    batch = _least_work(scenario, step) if step else 0.0
    bounds = lower_bounds(scenario, first=True)
    times = {
        group.name: least_seconds(batch, group.core) + bounds[group.name].seconds()
        for group in scenario.devices
    }
    fastest = min(times, key=times.__getitem__)
    if times[fastest] <= scenario.stop.time:
        return []
    text = (
        f"stop.time {scenario.stop.time} is too short for any update, so the run will fail: the "
        f"first update of {fastest} takes about {_about(times[fastest])} with the model that it is "
        "computed on: make stop.time longer, or links faster"
    )
    return [Finding("warning", "stop.time", text)]


def _warning(
    scenario: Scenario, group: Group, step: StepTime, patience: Seconds, carried: float
) -> str:
    compute = least_seconds(scenario.mean_batches * step.seconds, group.core)
    if compute + carried <= patience:
        return ""
    return (
        f"rounds: {group.name}: {_work(scenario)} take about {_about(compute)} ({step.source}), "
        f"their messages {_about(carried)}, longer than patience {patience}: updates come too late "
        "and are refused, except in rounds in which no device is in time: make patience longer, or "
        "let a device do less between two rounds"
    )


def _left_out(scenario: Scenario, step: StepTime | None) -> Iterable[str]:
    """Yield a warning for every group of devices that others do not wait for long enough."""
    synchronization = scenario.training.synchronization
    patience = getattr(synchronization, "patience", None)
    if patience is None:
        return
    times = _update_times(scenario, step)
    kind = getattr(synchronization, "kind", "synchronization")
    for name, fastest in _waited_for(scenario, times, patience).items():
        source = f" ({step.source})" if step else ", of its messages alone"
        yield (
            f"{kind}: {name}: an update takes about {_about(times[name])}{source}, one of "
            f"{fastest} {_about(times[fastest])}: with patience {patience}, steps are made without "
            f"{name}: make patience longer than an update takes, give {name} less to compute or a "
            "faster link, or use `asynchronous`"
        )


def _update_times(scenario: Scenario, step: StepTime | None) -> dict[str, float]:
    """Return the least seconds of a pull, mini-batches of the mean length, and a push, by group.

    Members of compute groups share a mini-batch. With a schedule that cuts messages, computing and
    transfers overlap: the longer of the two counts.
    """
    training, share = scenario.training, 1.0
    if isinstance(training.synchronization, ComputeGroups):
        share = training.synchronization.groups / len(scenario.nodes)
    bounds, times = lower_bounds(scenario), {}
    for group in scenario.devices:
        work = share * scenario.mean_batches * step.seconds if step else 0.0
        parts = (
            least_seconds(work, group.core),
            bounds[group.name].seconds(share * training.batch_size),
        )
        times[group.name] = sum(parts) if training.cutting == Sequential() else max(parts)
    return times


def _waited_for(scenario: Scenario, times: dict[str, float], patience: float) -> dict[str, str]:
    """Return the groups of devices that are late by more than `patience`, each with the group of
    the fastest device that waits for it.

    `times` holds the seconds of an update by group.
    """
    late: dict[str, str] = {}
    if groups := compute_groups(scenario):
        group_of = {name: group.name for group in scenario.devices for name in group.names}
        meetings = {frozenset(group_of[name] for name in names) for names in groups}
    else:
        meetings = {frozenset(times)}
        if _quorum_time(scenario, times) <= min(times.values()) + patience:
            return late
    for names in sorted(meetings, key=sorted):
        fastest = min(sorted(names), key=times.__getitem__)
        for name in sorted(names):
            if times[name] > times[fastest] + patience:
                late.setdefault(name, fastest)
    return late


def _quorum_time(scenario: Scenario, times: dict[str, float]) -> float:
    """Return the seconds in which enough devices for a step have sent an update."""
    barrier = scenario.training.synchronization
    if not isinstance(barrier, Barrier):
        return max(times.values())
    needed = barrier.needed(len(scenario.nodes))
    for group in sorted(scenario.devices, key=lambda group: times[group.name]):
        needed -= len(group.names)
        if needed <= 0:
            return times[group.name]
    return max(times.values())


def _late_answers(scenario: Scenario) -> Iterable[Finding]:
    """Yield a warning for every group of devices whose answers to the outputs of the server's
    layers come too late."""
    crossing = largest_at_the_cut(scenario)
    if crossing is None or not crossing.logits:
        return
    patience = getattr(scenario.training.synchronization, "patience", Seconds(PATIENCE))
    for group in scenario.devices:
        ways = group.link.down, group.link.up
        seconds = sum(way.transfer(crossing.logits) for way in ways)
        if seconds > patience:
            text = (
                f"fully_connected: {group.name}: outputs and their gradient take about "
                f"{_about(seconds)} on its link, longer than patience {patience}: the mini-batches "
                f"of {group.name} are lost: make its link faster, or batch_size smaller"
            )
            yield Finding("warning", "training.fully_connected", text)


def _least_work(scenario: Scenario, step: StepTime) -> float:
    """Return a lower bound on the seconds of a whole core for which a device computes an update."""
    training = scenario.training
    # layers are computed while others travel, or at the server; a group deals its mini-batch over
    # its devices
    if (
        training.cutting != Sequential()
        or training.cut is not None
        or isinstance(training.synchronization, ComputeGroups)
    ):
        return 0.0
    if isinstance(training.split, Iid | Mixture | Shards):
        return step.least * scenario.mean_batches
    return step.least * training.local.batches(1, training.batch_size)  # a device may have so few


def _work(scenario: Scenario) -> str:
    epochs = scenario.training.local.epochs
    batches = f"{scenario.mean_batches:,} mini-batches"
    return f"{counted(epochs, 'epoch')} ({batches})" if epochs else batches


def _about(seconds: float) -> str:
    return str(Seconds(float(f"{seconds:.2g}")))
