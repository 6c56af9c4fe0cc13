"""Compute groups of a scenario: the names of the members, and the devices' mini-batches.

With `assign: speed` devices are sorted by the expected time of an iteration, the fastest first;
equal devices keep the file's order. The time has two parts: computing a device's share of a
mini-batch within its CPU quota, and carrying a model down and an update up through its link and the
server's, without other traffic. Of a cut model the device's part counts, and the bytes that cross
the cut are carried too. The section `virtual` and calibrations do not count, so that both runtimes,
on every host, form the same groups.
"""

from ..core.cut.crossing_bytes import crossing_bytes
from ..core.scheduling.prior_costs import through
from ..pulls import floats
from ..scenario import Scenario
from ..scenario.sections.devices import Group
from ..synchronization import ComputeGroups
from ..synchronization.groups import blocks, dealt
from .layer_costs import update_sizes

OPERATIONS = 6
"""Operations for each parameter and example: 2 in the forward pass, 4 in the backward pass."""
SPEED = 5e9
"""Operations that a core is taken to do in a second: a worker was measured to do 5.6e9 with
`mnist-cnn` and mini-batches of 10 (`emulate calibrate`), convolutions counted as above."""


def compute_groups(scenario: Scenario) -> tuple[tuple[str, ...], ...]:
    """Return the names of the devices in each compute group; () without `groups`."""
    policy = scenario.training.synchronization
    if not isinstance(policy, ComputeGroups):
        return ()
    names = [device.name for device in scenario.nodes]
    if policy.assign == "speed":
        times = _iteration_times(scenario, policy.groups / len(names))
        names.sort(key=times.__getitem__)
    return tuple(blocks(names, policy.groups))


def dealt_batches(scenario: Scenario) -> dict[str, int]:
    """Return the examples in a mini-batch by device; {} stands for `batch_size` everywhere."""
    size = scenario.training.batch_size
    return {
        name: examples
        for group in compute_groups(scenario)
        for name, examples in zip(group, dealt(size, len(group)), strict=True)
    }


def dealt_sizes(scenario: Scenario) -> list[int]:
    """Return the different sizes of the devices' mini-batches, the largest first."""
    return sorted(set(dealt_batches(scenario).values()), reverse=True) or [
        scenario.training.batch_size
    ]


def _iteration_times(scenario: Scenario, share: float) -> dict[str, float]:
    """Return the expected seconds of an iteration on each device, by name.

    `share` is a device's mean share of a mini-batch.
    """
    training = scenario.training
    layout, examples = training.device_layout, training.batch_size * share
    compute = OPERATIONS * layout.size * examples / SPEED
    down = float(floats.width(training.pull.values)) * layout.size
    up = sum(update_sizes(training.codec, layout))
    if training.cut is not None:
        crossing = crossing_bytes(training.network, training.cut, 1)
        down, up = down + examples * crossing.down, up + examples * crossing.up
    return {
        name: seconds
        for group in scenario.devices
        for seconds in [_iteration_time(scenario, group, compute, down, up)]
        for name in group.names
    }


def _iteration_time(
    scenario: Scenario, group: Group, compute: float, received: float, sent: float
) -> float:
    """Return the seconds of `compute` seconds of a core, and of the bytes `received` and `sent`."""
    cpu = group.profile.cpu if group.profile else None
    down = through(group.link.down, scenario.server.link.up)
    up = through(group.link.up, scenario.server.link.down)
    carried = received * down.pace + sent * up.pace
    return (
        compute / min(1.0, float(cpu or 1))
        + carried
        + sum(way.setup + way.delay for way in (down, up))
    )
