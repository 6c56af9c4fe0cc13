"""Compute groups of a scenario: the names of the members, and the devices' mini-batches.

With `assign: speed` devices are sorted by the expected time of an iteration, the fastest first;
equal devices keep the file's order. The time has two parts: computing a device's share of a
mini-batch within its CPU quota, and an exchange with the server, as `exchange.py` reckons it. Of a
cut model the device's part counts, and the bytes that cross the cut are carried too. The section
`virtual` and calibrations do not count, so that both runtimes, on every host, form the same groups.
"""

from ..scenario import Scenario
from ..synchronization import ComputeGroups
from ..synchronization.groups import blocks, dealt
from .exchange import exchanges

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
    examples = scenario.training.batch_size * share
    compute = OPERATIONS * scenario.training.device_layout.size * examples / SPEED
    times = {name: exchange.seconds(examples) for name, exchange in exchanges(scenario).items()}
    return {
        name: compute / group.core + times[group.name]
        for group in scenario.devices
        for name in group.names
    }
