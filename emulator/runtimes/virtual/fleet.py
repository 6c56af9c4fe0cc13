"""The nodes of a run in virtual time: the scenario's devices, and the evaluator."""

import math
from collections.abc import Sequence
from random import Random

from ...core.worker.falsifying import VERB as FALSIFY
from ...core.worker.kept_state import Keeper
from ...core.worker.worker import evaluator
from ...costs.compute_groups import dealt_batches
from ...scenario import Scenario
from ...scenario.timeline.compiled import verbs_of_faults
from ...scenario.timeline.link_changes import reshaped_links
from ...scenario.timeouts import answer_timeout
from ...world.cpu_quota import Quota
from ...world.faults import Hazard
from ...world.laws import Law
from ...world.links.link import Link, Side
from ...world.roles import EVALUATOR
from .device.processor import Surroundings, packet_size, reception
from .device.virtual_device import VirtualDevice
from .learning.gradient_handle import LieNow
from .links.link_group import LinkGroup
from .links.network import GroupLinks, acknowledgements
from .links.transmission import LinkConstants
from .workers import Workers


class Fleet:
    """Makes and boots the nodes of a run."""

    def __init__(self, scenario: Scenario, workers: Workers, size: int, boot: Law) -> None:
        """Devices hold `size` parameters; `boot` is the law of a boot's duration."""
        self._scenario, self._workers, self._size = scenario, workers, size
        self._boot_law = boot
        self._lies = FALSIFY in verbs_of_faults(scenario)
        self.nodes: dict[str, VirtualDevice] = {}
        """Every node by name; empty until `populate`."""

    def populate(
        self, surroundings: Surroundings[VirtualDevice], links: Sequence[GroupLinks]
    ) -> None:
        """Make the nodes and begin the coroutines; `links` has an item per group of devices."""
        scenario = self._scenario
        devices = iter(scenario.nodes)
        dealt, size = dealt_batches(scenario), scenario.training.batch_size
        times = {each: scenario.virtual.time_of(each, size) for each in set(dealt.values())}
        changed = reshaped_links(scenario)
        queues = [Side(rate=each.down.rate) for each in scenario.bottlenecks]
        queues += [
            Side(rate=way.rate) for each in scenario.network_links for way in (each.up, each.down)
        ]
        receivers = [*(group.link.down for group in scenario.devices), *queues]
        sent = packet_size(scenario.server.link.up, receivers)
        for group, group_links in zip(scenario.devices, links, strict=True):
            received = reception(group.link.down, sent)
            timeouts: dict[tuple[Link, ...], float] = {}  # a timeout looks at all devices
            for number in range(len(group.names)):
                spec = next(devices)  # in the order of the groups
                device = VirtualDevice(surroundings, spec.name, group_links, number)
                others = changed.get(spec.name, ())
                if others not in timeouts:
                    own = scenario, group.link, 4 * self._size
                    timeouts[others] = answer_timeout(*own, others)
                device.timeout, device.hazards = timeouts[others], spec.hazards
                if spec.name in scenario.keepers:
                    device.keeper = Keeper()
                if examples := dealt.get(spec.name):
                    device.step = times[examples]
                device.cores, device.reception = spec.cpu, received
                if spec.cpu is not None and spec.cpu < 1:
                    device.quota = Quota(spec.cpu)
                self.nodes[spec.name] = device
        for device in self.nodes.values():
            self._begin(device, 0)
        if self._workers.learning.scores:
            self._start_evaluator(surroundings)

    def boot(self, device: VirtualDevice) -> None:
        """Begin to boot `device`; at the end of the boot the worker runs."""
        incarnation = device.incarnation
        device.boot(self._boot_law, lambda: self._begin(device, incarnation))

    def _begin(self, device: VirtualDevice, incarnation: int) -> None:
        """Begin the worker of `incarnation`, unless `device` has died again while it booted."""
        if incarnation != device.incarnation:
            return
        seed = self._scenario.seed
        if device.hazards:
            device.hazard = Hazard(device.hazards, seed, device.name, incarnation)
        self._workers.begin(device, self._size, self._lie(device))

    def _lie(self, device: VirtualDevice) -> LieNow | None:
        """Return a function that tells how `device` lies; None if no fault lets devices lie."""
        return (lambda: device.lie) if self._lies else None

    def close(self) -> None:
        """Have the schedulers report their last iterations: the run is over."""
        for device in self.nodes.values():
            if device.passes is not None and device.passes.scheduler is not None:
                device.passes.scheduler.close(device.surroundings.clock.now)

    def _start_evaluator(self, surroundings: Surroundings[VirtualDevice]) -> None:
        """Make the evaluator, on links that take no time, and begin the coroutine."""
        clock, ideal = surroundings.clock, LinkConstants(math.inf)
        links = GroupLinks(
            LinkGroup(clock, ideal, 1, _no_jitter),
            LinkGroup(clock, ideal, 1, _no_jitter),
            acknowledgements(self._scenario),
        )
        node = self.nodes[EVALUATOR] = VirtualDevice(surroundings, EVALUATOR, links, 0)
        whole = self._scenario.training.layout.size
        node.begin(evaluator(EVALUATOR, 0, whole, math.inf))


def _no_jitter(number: int) -> Random:
    raise RuntimeError("a link without jitter draws nothing")
