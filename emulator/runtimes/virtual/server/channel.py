"""The one way between the nodes and the server in virtual time: links, cuts and reconnects."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ....core import wire
from ....core.sharding.server_shards import LEADER, ServerShards
from ....core.wire.messages import Again, Pull, Request, Score, Update, UpdateSegment
from ....core.worker.garbled_question_pace import QuestionPace
from ....core.zmtp import PLAIN, Form
from ....errors import WireError
from ....world.faults.corrupt import VERB, Garbler
from ..clock import Heap
from ..device.virtual_device import Incoming, VirtualDevice


class Garbling:
    """Flips bits in messages of the devices under the fault `corrupt`.

    Messages are encoded, garbled and decoded as on a wire. Those without values (`virtual.learner:
    none`) cannot be encoded: those drawn are refused.
    """

    def __init__(self, seed: int, *, sized: bool) -> None:
        """`seed` is the run's; `sized`: whether messages have sizes only, and no values."""
        self._seed, self._sized = seed, sized
        self._garblers: dict[str, tuple[int, Garbler]] = {}  # with the incarnation, by device

    def flip(self, device: VirtualDevice, message: Request) -> str:
        """Return why the server refuses `message` of `device`; empty if no bit is flipped."""
        if not self.strikes(device):
            return ""
        if self._sized:
            return wire.MISMATCH
        garbler = self._garbler(device)
        try:
            wire.unpack(wire.opened(garbler.garble(wire.sealed(wire.pack(message)))))
        except WireError as error:
            return str(error)
        return ""

    def strikes(self, device: VirtualDevice) -> bool:
        """Draw whether bits of the next message of `device` are flipped."""
        setting = device.played.settings.get(VERB) if device.played else None
        return setting is not None and self._garbler(device).strikes(setting)

    def _garbler(self, device: VirtualDevice) -> Garbler:
        incarnation, garbler = self._garblers.get(device.name, (-1, None))
        if garbler is None or incarnation != device.incarnation:
            garbler = Garbler(self._seed, device.name, device.incarnation)
            self._garblers[device.name] = device.incarnation, garbler
        return garbler


@dataclass(slots=True)
class _Sent:
    """The last pull and the last push of a node."""

    ticket: int = 0
    """Ticket of the last pull."""
    pushed: int = -1
    """Ticket of the pull that brought the model of `pushes`."""
    pushes: list[Request] = field(default_factory=list)
    broken: bool = False
    """Whether a connection has broken since the first of `pushes`."""


class UnansweredPushes:
    """Numbers the pushes of all nodes, and keeps the last push of each node."""

    def __init__(self) -> None:
        self._sent: dict[str, _Sent] = {}

    def before(self, message: Request) -> list[Request]:
        """Return the messages to send now, the last of which is `message`, numbered if a push."""
        sent = self._sent.setdefault(message.node, _Sent())
        if isinstance(message, Pull):
            sent.ticket = message.ticket
            if sent.broken:
                sent.broken = False
                return [*sent.pushes, message]
        elif isinstance(message, Update | UpdateSegment | Score):
            if isinstance(message, Update):
                message = replace(message, ticket=sent.ticket)
            if sent.pushed != sent.ticket:
                sent.pushed, sent.pushes, sent.broken = sent.ticket, [], False
            sent.pushes.append(message)
        return [message]

    def broke(self, node: str) -> None:
        """Note that a connection of `node` has broken."""
        self._sent.setdefault(node, _Sent()).broken = True

    def forget(self, node: str) -> None:
        """Drop the pushes of `node`: its process has ended, and the next one does not know them."""
        self._sent.pop(node, None)


class Channel:
    """Carries messages over the nodes' links, and detects time-outs of connections."""

    def __init__(
        self,
        clock: Heap,
        timeout: float,
        *,
        form: Form = PLAIN,
        patches: bool,
        garbling: Garbling | None = None,
        shards: ServerShards | None = None,
    ) -> None:
        """Give a connection up once its device has been silent for `timeout` seconds.

        Messages are of the `form`. With `patches` each pull names the version of the model that the
        device holds, so that the server can answer with a patch. With `garbling` faults may flip
        the bits of messages, which have checksums. With `shards` a device sends each request to
        the shards that it is for.
        """
        self._clock, self._timeout = clock, timeout
        self._form = form
        self._patches, self._garbling = patches, garbling
        self._shards = shards
        self._serve: Callable[..., None] = _unconnected
        self._refuse: Callable[[VirtualDevice, Request, str], None]
        self._severed: set[str] = set()  # devices that are cut off
        self._frozen: set[str] = set()  # devices that are paused
        self._silent: dict[str, float] = {}  # device: since when the server hears nothing from it
        self._down = False  # whether the server is down
        self._broken: set[str] = set()  # devices cut off since before the server came back
        self._pushes = UnansweredPushes() if form.durable else None
        self._paces: dict[str, tuple[int, QuestionPace]] = {}  # with the incarnation, by device

    def connect(
        self,
        serve: Callable[..., None],
        refuse: Callable[[VirtualDevice, Request, str], None],
    ) -> None:
        """Call `serve` with requests on arrival at the server; with shards, with the shard, too.

        `refuse` is called with device, request and reason in place of a request with flipped bits.
        """
        self._serve, self._refuse = serve, refuse

    def request(self, device: VirtualDevice, message: Request) -> int:
        """Send `message` from `device` to the server; return its size in bytes."""
        if self._patches and isinstance(message, Pull):
            message = replace(message, held=device.held)
        if self._pushes:
            *again, message = self._pushes.before(message)
            for push in again:
                self._send(device, push)
        return self._send(device, message)

    def _send(self, device: VirtualDevice, message: Request) -> int:
        size = wire.size(message, self._form)
        if self._shards is None:
            self._transmit(device, message, size, (message,), LEADER)
            return size
        shards = self._shards.receivers(message)
        for shard in shards:
            self._transmit(device, message, size, (message, shard), shard)
        return size * len(shards)

    def _transmit(
        self,
        device: VirtualDevice,
        message: Request,
        size: int,
        served: tuple[Any, ...],
        shard: int,
    ) -> None:
        """Send `message` to `shard`; on arrival the server is called with `served`."""
        up, number = device.links.up, device.number
        reason = self._garbling.flip(device, message) if self._garbling else ""
        # the evaluator has one link, to the leader
        way: dict[str, int] = {"shard": shard} if shard != LEADER else {}
        if reason:
            up.send(number, size, self._refuse, device, message, reason, **way)
        else:
            up.send(number, size, self._serve, *served, **way)

    def reply(
        self,
        device: VirtualDevice,
        incarnation: int,
        message: Incoming,
        size: int,
        shard: int = LEADER,
    ) -> None:
        """Send `message` of `size` bytes from a `shard` of the server to `incarnation` of `device`.

        A connection does not outlive its incarnation, nor the server's process: nothing is sent if
        either has ended.
        """
        if incarnation == device.incarnation and not self._down:
            special = self._garbling or isinstance(message, Again)
            hear = self._hear if special else VirtualDevice.hear
            arguments = device, incarnation, message, size
            way: dict[str, int] = {"shard": shard} if shard != LEADER else {}
            device.links.down.send(device.number, size, hear, *arguments, **way)

    def _hear(self, device: VirtualDevice, incarnation: int, message: Incoming, size: int) -> None:
        """Give `message` to `device`, which asks again if it is told to or if bits were flipped."""
        if isinstance(message, Again) or (self._garbling and self._garbling.strikes(device)):
            self._ask_again(device, incarnation)
        else:
            self._pace(device.name, incarnation).answer()
            device.hear(incarnation, message, size)

    def _ask_again(self, device: VirtualDevice, incarnation: int) -> None:
        """Let `device` ask again as soon as its pace allows."""
        now, pace = self._clock.now, self._pace(device.name, incarnation)
        if pace.asked > now:  # the next question is planned
            return
        due = pace.due(now)
        pace.ask(due)
        if due <= now:
            device.ask_again(incarnation)
        else:
            self._clock.at(due, device.ask_again, incarnation)

    def _pace(self, name: str, incarnation: int) -> QuestionPace:
        asker, pace = self._paces.get(name, (-1, QuestionPace()))
        if asker != incarnation:
            pace = QuestionPace()
            self._paces[name] = incarnation, pace
        return pace

    def out_of_reach(self, device: VirtualDevice) -> bool:
        """Return whether `device` has been silent for longer than the time-out, or the server is
        down."""
        if self._down:
            return True
        if not self._silent:
            return False
        return self._clock.now - self._silent.get(device.name, math.inf) >= self._timeout

    def sever(self, device: VirtualDevice) -> None:
        """Let nothing through to or from `device` until `mend`."""
        self._severed.add(device.name)
        self._silent.setdefault(device.name, self._clock.now)
        device.links.cut(device.number)

    def mend(self, device: VirtualDevice) -> None:
        """Let messages pass again, on a new connection if the last connection has timed out."""
        self._severed.discard(device.name)
        if self._down:
            self._resound(device)
        elif device.name not in self._frozen:
            self._go_on(device, severed=True)
        elif not self.out_of_reach(device):
            device.links.mend(device.number)
        # else the device needs a new connection, which it makes once it thaws

    def freeze(self, device: VirtualDevice) -> None:
        """Let `device` answer no heartbeat until `thaw`; the device's kernel works on."""
        self._frozen.add(device.name)
        self._silent.setdefault(device.name, self._clock.now)

    def thaw(self, device: VirtualDevice) -> None:
        """Let `device` answer again, on a new connection if the last connection has timed out."""
        if device.name not in self._frozen:  # it has booted since
            return
        self._frozen.discard(device.name)
        if self._down:
            self._resound(device)
        elif device.name not in self._severed:
            self._go_on(device, severed=False)

    def close(self, device: VirtualDevice) -> None:
        """Drop the connection and every message not sent yet, as after a loss of power."""
        if self._pushes:
            self._pushes.forget(device.name)
        device.links.drop(device.number)
        self._severed.discard(device.name)
        self._frozen.discard(device.name)
        self._silent.pop(device.name, None)
        self._broken.discard(device.name)
        if self._down:
            device.links.cut(device.number)

    # -- the server's crashes --------------------------------------------------------------------

    def lose_server(self, devices: Iterable[VirtualDevice]) -> None:
        """Break the connections of all `devices`: the server's process has died.

        Later messages of a device wait for its next connection.
        """
        self._down = True
        for device in devices:
            device.links.drop(device.number)
            device.links.cut(device.number)
            self._note_break(device)

    def find_server(self, devices: Iterable[VirtualDevice]) -> None:
        """Connect all `devices` that are not cut off with the server's new process."""
        self._down = False
        for device in devices:
            if device.name in self._severed:
                self._broken.add(device.name)
            elif not device.links.renew(device.number):
                device.renew()  # the question has left already, and its answer is lost

    def _resound(self, device: VirtualDevice) -> None:
        """End the silence of `device`, unless it has another reason; there is no server to hear."""
        if not {device.name} & (self._severed | self._frozen):
            self._silent.pop(device.name, None)

    def _note_break(self, device: VirtualDevice) -> None:
        if self._pushes:
            self._pushes.broke(device.name)
            device.held = None  # the server may have come back with an older model

    def _go_on(self, device: VirtualDevice, *, severed: bool) -> None:
        """End the silence of `device`; `severed` says that the links were cut until now."""
        gave_up = self.out_of_reach(device) or device.name in self._broken
        self._broken.discard(device.name)
        del self._silent[device.name]
        if gave_up:
            self._note_break(device)
            if not device.links.reconnect(device.number):
                # the device's last question has left already, and its answer is lost
                device.renew()
        elif severed:
            device.links.mend(device.number)


def _unconnected(*request: Any) -> None:
    raise RuntimeError("the channel is not connected to a server")
