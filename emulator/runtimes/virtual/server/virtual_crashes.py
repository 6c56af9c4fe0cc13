"""Crashes of the server in virtual time: connections break, and a saved state comes back.

With `durability: update` nothing that the server has taken is lost, so the server that comes back
is the server that died. With `{every: TIME}` it comes back as it was at the last multiple of the
time.
"""

from collections import Counter
from collections.abc import Iterable

from ....core.plan import Durability
from ....core.server.parameter_server import ParameterServer
from ....core.server.seen_pushes import SeenPushes
from ....log.lines import RunLog
from ....log.records import RecoveredRecord, made
from ....plugins.stateful import copied
from ....world import verbs
from ....world.powers import FaultCounts
from ....world.verbs import Action
from ..clock import Heap
from ..device.device_faults import overlapped
from ..device.virtual_device import VirtualDevice
from .channel import Channel
from .virtual_server import VirtualServer


class VirtualCrashes:
    """Does the verbs to the server, and saves its states: a Chore."""

    def __init__(
        self,
        durability: Durability,
        server: ParameterServer,
        endpoint: VirtualServer,
        channel: Channel,
        clock: Heap,
        log: RunLog,
    ) -> None:
        self._every = durability.every
        self._server, self._endpoint, self._channel = server, endpoint, channel
        self._clock, self._log = clock, log
        self._faults = FaultCounts()
        self._number = 0
        endpoint.seen = SeenPushes()
        self._save()

    def perform(self, action: Action, planned: float, devices: Iterable[VirtualDevice]) -> None:
        """Do an action of the timeline; `devices` are all nodes but the server."""
        if not self._faults.changes(action.verb, action.fault):
            if action.begins:
                self._log.write(overlapped(action, planned, self._now))
            return
        kind = self._faults.kind(action.verb)
        facts = {"fault": kind, "begins": action.begins, "planned": planned}
        self._log.write(made(verbs.record(action.verb), self._now, node=action.node, **facts))
        if action.begins:
            self._endpoint.die()
            self._channel.lose_server(devices)
            return
        lost = self._recover()
        zero = self._server.zero or 0.0
        self._log.write(RecoveredRecord(self._now, self._server.version, lost, zero))
        self._endpoint.come_back()
        self._channel.find_server(devices)

    @property
    def _now(self) -> float:
        return self._clock.now - (self._server.zero or 0.0)

    # -- states ----------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        if self._every is None or self._server.zero is None:
            return None
        return self._server.zero + self._number * self._every

    def tick(self, now: float) -> None:
        self._number += 1
        if not self._endpoint.down:
            self._save()

    def _save(self) -> None:
        """Keep the present state, if anything may be lost."""
        if self._every is not None and self._server.zero is not None:
            self._state = copied(self._server.state())
            self._booked: dict[str, int] = {}  # updates on record since the state, by node
            self._seen = self._endpoint.seen.plain() if self._endpoint.seen else {}

    def _recover(self) -> int:
        """Bring the server to the last state; return the number of updates that are lost."""
        if self._every is None:
            return 0
        version, applied = self._server.version, Counter(self._server.applied())
        self._server.restore(copied(self._state))
        if self._endpoint.seen:
            self._endpoint.seen.restore(self._seen)
        applied.subtract(self._server.applied())
        for node, count in applied.items():
            self._booked[node] = max(count, self._booked.get(node, 0))
        self._server.recover(self._booked, self._seen)
        return version - self._server.version
