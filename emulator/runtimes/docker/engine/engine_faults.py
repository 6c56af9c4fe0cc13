"""Faults on containers that the conductor plays through the engine, as changes of a CPU quota.

A call to the engine takes tens of milliseconds, so threads make the calls: faults of many devices
at one time do not wait for each other. The calls for one device come in their order.
"""

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from docker import DockerClient
from docker.errors import APIError, NotFound

from ....node.reports import DrawnReport, OverlapReport, VerbReport
from ....world import verbs
from ....world.cpu_quota import throttled
from ....world.emulated_clock import UNDILATED, EmulatedClock
from ....world.powers import FaultCounts, perform
from ....world.verbs import Action, Setting
from ..configs import spec
from ..configs.spec import USUAL_PERIOD, cpu_quota
from .client import MOST_CALLS, refusals
from .hosts import Hosts

_IN_USE = "device or resource busy", "Minimum memory limit"
"""Words of an engine that cannot lower the memory limit of a container so far."""

UNLIMITED = -1
"""CPU quota of a container without one."""


class ContainerPowers:
    """Does the verbs of the table with `by="engine"` to the container of a device."""

    def __init__(
        self,
        client: DockerClient,
        container: str,
        cpu: float | None,
        dilation: float = 1.0,
        memory: int | None = None,
    ) -> None:
        """`cpu` is the device's own CPU quota in cores, undilated; None: it has none. `memory` is
        the container's limit in bytes, for faults that take memory of a workload's program.

        The container has no quota yet.
        """
        self._client, self._container, self._cpu = client, container, cpu
        self._dilation, self._memory = dilation, memory
        self._in_force, self._lifted = cpu, False
        self._set = USUAL_PERIOD, UNLIMITED

    def set_memory(self, limit: int) -> None:
        """Set the container's memory limit to `limit` bytes."""
        self._client.api.update_container(self._container, mem_limit=limit, memswap_limit=limit)

    def limit(self) -> None:
        """Give the container, which has booted with the whole host, the quota in force."""
        self._update()

    def throttle(self, setting: Setting) -> None:
        """Multiply the device's CPU quota by a factor."""
        self._in_force = throttled(self._cpu, setting["factor"])
        self._update()

    def unthrottle(self) -> None:
        """Give the device its own CPU quota back."""
        self._in_force = self._cpu
        self._update()

    def lift(self) -> None:
        """Let the container use a whole core, until `lower`, whatever quota a fault sets."""
        self._lifted = True
        self._update()

    def lower(self) -> None:
        """Give the container the quota in force back."""
        self._lifted = False
        self._update()

    def press(self, setting: Setting) -> None:
        """Take a share of the memory from the program: its limit is lower by so much.

        A program that has more than the rest is killed, as the kernel would kill it.
        """
        if self._memory is None:
            return
        try:
            self.set_memory(round(self._memory * (1 - setting["share"])))
        except APIError as error:  # version 1 of control groups lowers no limit below its use
            if not any(words in str(error.explanation) for words in _IN_USE):
                raise
            self.kill()

    def release(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self.set_memory(self._memory)

    def kill(self) -> None:
        """Send SIGKILL to all processes of the container, which may have ended."""
        self._while_it_runs(self._client.api.kill, self._container)

    def stop(self, grace: int) -> None:
        """Ask the container's program to end, and kill it after `grace` seconds."""
        self._while_it_runs(self._client.api.stop, self._container, timeout=grace)

    def freeze(self) -> None:
        """Freeze all processes of the container."""
        self._while_it_runs(self._client.api.pause, self._container)

    def thaw(self) -> None:
        """Let the processes of the container go on."""
        self._while_it_runs(self._client.api.unpause, self._container)

    def _while_it_runs(self, call: Callable[..., Any], *args: Any, **options: Any) -> None:
        """Call the engine; a container that does not run, or is not paused, is left as it is."""
        try:
            call(*args, **options)
        except APIError as error:
            if error.status_code not in (404, 409):
                raise

    def _update(self) -> None:
        """Tell the engine the container's quota, if it is another one."""
        if (wanted := self._quota()) == self._set:
            return
        period, quota = wanted
        self._client.api.update_container(self._container, cpu_period=period, cpu_quota=quota)
        self._set = wanted

    def _quota(self) -> tuple[int, int]:
        """Return the period and the time in it that the container should have now."""
        period, quota = cpu_quota(self._in_force, self._dilation) or (USUAL_PERIOD, UNLIMITED)
        # one process takes memory, and uses no more than one core
        return period, UNLIMITED if self._lifted and quota < period else quota


class Done(NamedTuple):
    """A verb that was done to a container, or a drawn fault that overlaps another."""

    now: float
    """Reading of the emulated clock: when the engine had done it, or began to end a fault."""
    node: str
    report: VerbReport | OverlapReport
    """The report, as a supervisor would make it."""


@dataclass
class _Order:
    """A change of a container."""

    name: str
    """Name of the change, for errors."""
    do: Callable[[ContainerPowers], None]
    report: VerbReport | None
    """None: the change has no record."""
    then: Callable[[float], None] = lambda now: None
    """Called with the time of the change."""
    required: bool = False
    """Whether a refusal of the engine is an error though the container does not run."""


@dataclass
class _Node:
    """The faults on a device, and the calls to the engine for it."""

    name: str
    powers: ContainerPowers
    counts: FaultCounts = field(default_factory=FaultCounts)
    waiting: deque[_Order] = field(default_factory=deque)
    call: Future[float | None] | None = None
    """The call under way, which does the first of `waiting`."""


def fits(drawn: DrawnReport) -> bool:
    """Return whether `drawn` is a fault that the engine can play."""
    factor = (drawn.setting or {}).get("factor")
    playable = isinstance(factor, int | float) and 0 < factor <= 1
    return playable and verbs.row(drawn.begin).by == "engine"


class EngineFaults:
    """Plays the verbs with `by="engine"` to the containers of a run. For one thread.

    The engine also lifts the CPU quota of a device for another fault, as `lift` says.
    """

    def __init__(
        self,
        hosts: Hosts,
        run: str,
        cpus: Mapping[str, float | None],
        clock: EmulatedClock = UNDILATED,
        *,
        named: Callable[[str, str], str] = spec.name,
        limits: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`cpus` gives the CPU quota of each device in cores, undilated; None means no quota.

        `named` returns the name of the container of a node of a run; `limits` has memory limits in
        bytes, by node, where the engine plays faults of memory.
        """
        self._clock, self._named, self._limits = clock, named, limits
        self._hosts, self._run, self._cpus = hosts, run, cpus
        self._nodes: dict[str, _Node] = {}  # devices that a fault has struck
        self._ends: list[tuple[float, int, Action]] = []  # a heap: when due, ticket, end
        self._tickets = 0
        self._overlaps: list[Done] = []  # faults that came while another of the verb held a device
        self._pool = ThreadPoolExecutor(MOST_CALLS)

    def perform(self, action: Action, planned: float) -> None:
        """Begin to do an `action` of the timeline, which is due at `planned`."""
        self._obey(action, planned)

    def lift(self, node: str, lifted: bool, then: Callable[[float], None]) -> None:
        """Let the container of `node` use a whole core if `lifted`, else its quota in force.

        Call `then` when that is done. A verb that comes between the two changes the quota in force.
        """
        do = ContainerPowers.lift if lifted else ContainerPowers.lower
        self._order(self._node(node), _Order(f"CPU quota of {node}", do, None, then))

    def limit(self, node: str) -> None:
        """Begin to give the container of `node` its CPU quota, which no container has at first."""
        self._order(self._node(node), _Order(f"CPU quota of {node}", ContainerPowers.limit, None))

    def set_memory(self, node: str, limit: int) -> None:
        """Begin to set the memory limit of the container of `node` to `limit` bytes."""
        do = partial(ContainerPowers.set_memory, limit=limit)
        self._order(self._node(node), _Order(f"memory limit of {node}", do, None))

    def have(
        self,
        node: str,
        name: str,
        do: Callable[[ContainerPowers], None],
        then: Callable[[float], None] = lambda now: None,
    ) -> None:
        """Begin to `do` something to the container of `node`, behind all that was asked before.

        `name` names it in errors. `then` is called once it is done.
        """
        self._order(self._node(node), _Order(name, do, None, then, required=True))

    @property
    def busy(self) -> bool:
        """Whether a call to the engine is under way."""
        return any(node.call is not None for node in self._nodes.values())

    def draw(self, node: str, drawn: DrawnReport) -> None:
        """Begin the fault that a device has drawn, and plan its end."""
        begin = Action(drawn.begin, node, drawn.fault, drawn.setting)
        end, lasts = Action(drawn.end, node, drawn.fault), drawn.lasts

        def plan_end(now: float) -> None:
            if lasts is not None:
                self._tickets += 1
                heapq.heappush(self._ends, (now + lasts, self._tickets, end))

        first = self._obey(begin, None, plan_end)
        prolongs = self._nodes[node].counts.prolongs(begin.verb, lasts)
        if not first:  # another fault holds the device
            now = self._clock.now()
            plan_end(now)
            if prolongs:
                self._overlap(begin, now, lasts=lasts)

    def _overlap(
        self, begin: Action, now: float, lasts: float | None = None, planned: float | None = None
    ) -> None:
        report = OverlapReport(begin.fault, begin.verb, lasts, planned)
        self._overlaps.append(Done(now, begin.node, report))

    def tick(self, now: float) -> list[Done]:
        """Begin the ends that are due by the time `now`; return the verbs done by now.

        Raises DeploymentError if the engine refused a call for a container that runs.
        """
        while self._ends and self._ends[0][0] <= now:
            self._obey(heapq.heappop(self._ends)[2], None)
        overlaps, self._overlaps = self._overlaps, []
        return [*overlaps, *(done for name in self._nodes for done in self._finished(name))]

    def close(self) -> None:
        """Wait for the calls under way, and make no further call."""
        self._pool.shutdown(cancel_futures=True)

    def _obey(
        self, action: Action, planned: float | None, then: Callable[[float], None] | None = None
    ) -> bool:
        """Let `action` be done, unless another fault of its verb holds the device."""
        node = self._node(action.node)
        if not node.counts.changes(action.verb, action.fault):
            if planned is not None and action.begins:
                self._overlap(action, self._clock.now(), planned=planned)
            return False
        fault = node.counts.kind(action.verb)
        order = _Order(
            f"{action.verb} of {action.node}",
            lambda powers: perform(powers, action.verb, action.setting),
            VerbReport(action.verb, fault, planned, action.setting),
        )
        if then is not None:
            order.then = then
        self._order(node, order)
        return True

    def _node(self, name: str) -> _Node:
        """Return the faults on the device `name`."""
        if name not in self._nodes:
            container = self._named(self._run, name)
            own = self._cpus.get(name), self._clock.dilation, self._limits.get(name)
            powers = ContainerPowers(self._hosts.of(name).client, container, *own)
            self._nodes[name] = _Node(name, powers)
        return self._nodes[name]

    def _order(self, node: _Node, order: _Order) -> None:
        node.waiting.append(order)
        self._next(node)

    def _next(self, node: _Node) -> None:
        if node.call is None and node.waiting:
            node.call = self._pool.submit(self._call, node, node.waiting[0])

    def _call(self, node: _Node, order: _Order) -> float | None:
        """Do `order`; return the time after, or before if it ends a fault.

        So the fault holds the device from the one time to the other. None if the container runs no
        more.
        """
        began = self._clock.now()
        with refusals(order.name):
            try:
                order.do(node.powers)
            except APIError:
                if order.required or self._runs(node.name):
                    raise
                return None
        ends = order.report is not None and not verbs.begins(order.report.verb)
        return began if ends else self._clock.now()

    def _runs(self, node: str) -> bool:
        try:
            api = self._hosts.of(node).client.api
            state = api.inspect_container(self._named(self._run, node))["State"]
        except NotFound:
            return False
        return bool(state["Running"])

    def _finished(self, name: str) -> list[Done]:
        """Take the end of the call for the device `name`, and make the next call."""
        node = self._nodes[name]
        if node.call is None or not node.call.done():
            return []
        now, order, node.call = node.call.result(), node.waiting.popleft(), None
        self._next(node)
        if now is None:
            return []
        order.then(now)
        return [] if order.report is None else [Done(now, name, order.report)]
