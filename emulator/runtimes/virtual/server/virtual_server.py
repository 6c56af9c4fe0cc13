"""The parameter server in virtual time: messages, timer, and processor."""

import math
from collections.abc import Mapping, Sequence
from random import Random

from .... import chance
from ....core import wire
from ....core.server.parameter_server import ParameterServer
from ....core.server.seen_pushes import SeenPushes
from ....core.sharding.part_staging import GatheredRequests
from ....core.sharding.server_shards import LEADER, ServerShards
from ....core.wire.messages import (
    Again,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Replies,
    Reply,
    Request,
    Times,
    Update,
    UpdateSegment,
)
from ....core.zmtp import PLAIN, Form
from ....errors import WireError
from ....scenario import Scenario
from ....world.laws import Law
from ....world.roles import SERVER, shard_name
from ..clock import Heap
from ..cut_times import ServerPasses
from ..device.virtual_device import Incoming, VirtualDevice
from ..learning.gradient_handle import GradientHandle, PrefetchedReply, PrefetchedSegment
from .channel import Channel


class ServerProcessor:
    """A queue of updates, for a single core.

    An update changes the model at the moment of arrival. Its time in the queue delays answers.
    """

    __slots__ = ("_dice", "_free", "_law", "_share")

    def __init__(
        self, law: Law | None, seed: int, *, name: str = SERVER, share: float = 1.0
    ) -> None:
        """Draw the duration of an update from `law`, in seconds; None means no time at all.

        `name` is the server's, among its shards, on which the draws depend; its part of an update
        takes `share` of a draw.
        """
        self._law, self._share = law, share
        self._dice = Random(chance.work(seed, name))
        self._free = 0.0  # when the last update in the queue will be done

    def take(self, now: float) -> None:
        """Queue an update with arrival time `now`."""
        if self._law is not None:
            self._free = max(now, self._free) + self._share * self._law.draw(self._dice)

    def restart(self) -> None:
        """Forget the queue: the server's process is a new one."""
        self._free = 0.0

    def compute(self, now: float, seconds: float) -> None:
        """Queue a computation of `seconds` that was asked for at the time `now`."""
        self._free = max(now, self._free) + seconds

    def free(self, now: float) -> float:
        """Return the earliest time for an answer: the end of the queue, or `now`."""
        return max(now, self._free)


def processors(scenario: Scenario, shards: ServerShards | None) -> list[ServerProcessor]:
    """Return the processor of the server, or of each of its `shards`.

    The time that a shard takes for its part of an update is proportional to its parameters.
    """
    law, seed, layout = scenario.virtual.serve, scenario.seed, scenario.training.layout
    if shards is None:
        return [ServerProcessor(law, seed)]
    return [
        ServerProcessor(law, seed, name=shard_name(number), share=share)
        for number, share in enumerate(shards.shares(layout))
    ]


_WHOLE = ModelReply, Patch
_PIECE = ModelSegment, PatchSegment


class VirtualServer:
    """Drives a ParameterServer: requests from the channel go in, replies go back out."""

    def __init__(
        self,
        server: ParameterServer,
        clock: Heap,
        channel: Channel,
        devices: Mapping[str, VirtualDevice],
        processors: Sequence[ServerProcessor],
        *,
        form: Form = PLAIN,
        passes: ServerPasses | None = None,
        shards: ServerShards | None = None,
    ) -> None:
        """`devices` holds every node by name; `processors` has one for each of the `shards`.

        `passes` times the passes through the server's part of a cut model. The shards tell each
        other of messages in no time.
        """
        self._server, self._clock, self._channel = server, clock, channel
        self._devices, self._processors = devices, processors
        self._shards = shards
        self._gathered = GatheredRequests(shards) if shards else None
        self._form = form
        self._passes = passes
        self._planned = math.inf  # time of the earliest tick that is planned
        self.down = False
        """Whether the server's process is dead."""
        self.seen: SeenPushes | None = None
        """Pushes by which others are recognised that are sent again; None: none is."""
        channel.connect(self._receive, self._refuse)

    def arm(self) -> None:
        """Plan the server's next tick. Halt the clock once the run is over."""
        if self._server.over:
            self._clock.halted = True
            return
        due = self._server.deadline()
        # a deadline that moves back leaves its tick planned: the server ignores a tick too early
        if due is not None and due < self._planned:
            self._planned = due
            self._clock.at(due, self._tick)

    def die(self) -> None:
        """End the process of the server, or of all its shards: messages are lost, and nothing is
        done."""
        self.down = True

    def come_back(self) -> None:
        """Start the server's process again, idle."""
        self.down = False
        if self._shards:
            self._gathered = GatheredRequests(self._shards)  # their connections have ended
        for processor in self._processors:
            processor.restart()
        self.arm()

    def _tick(self) -> None:
        self._planned = math.inf
        if self.down:
            return
        self._send(self._server.tick(self._clock.now))
        self.arm()

    def _receive(self, message: Request, shard: int = LEADER) -> None:
        if self.down or (self.seen and self.seen.repeats(message)):
            return
        now = self._clock.now
        if self._is_work(message):
            self._processors[shard].take(now)
        if self._gathered is None or self._gathered.complete(message, shard):
            self._send(self._take(message, now))
        self.arm()

    def _is_work(self, message: Request) -> bool:
        """Return whether `message` is an update, a part of one at a shard, or the last piece."""
        if not isinstance(message, UpdateSegment):
            return isinstance(message, Update)
        # an update in pieces is work once its last piece, with layer 1, is there
        return self._shards is not None or message.segment[0] == 1

    def _take(self, message: Request, now: float) -> Replies:
        """Take `message` as `ParameterServer.handle` does; a refused piece may come again."""
        try:
            return self._server.receive(message, now)
        except WireError as error:
            if self.seen:
                self.seen.refused(message)
            self._server.refuse(message.node, str(error), now)
            return []

    def _refuse(self, device: VirtualDevice, message: Request, reason: str) -> None:
        """Refuse a `message` with flipped bits; if it was a question, have `device` ask again.

        A device in quarantine gets no answer.
        """
        if self.down:
            return
        self._server.refuse(device.name, reason, self._clock.now)
        asked = not isinstance(message, Update | UpdateSegment)
        if asked and self._server.hears(device.name):
            again = Again()
            size = wire.size(again, self._form)
            self._channel.reply(device, device.incarnation, again, size)
        self.arm()

    def _send(self, replies: Replies) -> None:
        now, channel = self._clock.now, self._channel
        if self._passes:
            for name, reply in replies:
                self._processors[LEADER].compute(now, self._passes.seconds(name, reply))
        free = [processor.free(now) for processor in self._processors]
        handles: dict[str, GradientHandle] = {}  # of answers in segments, by device
        unsent: Replies = []
        for name, reply in replies:
            device, size = self._devices[name], wire.size(reply, self._form)
            if channel.out_of_reach(device):
                unsent.append((name, reply))
            elif device.works:
                answer = self._prefetched(device, reply, handles)
                shard = self._shards.sender(reply) if self._shards else LEADER
                sent = device, device.incarnation, answer, size, shard
                if free[shard] > now:
                    self._clock.at(free[shard], channel.reply, *sent)
                else:
                    channel.reply(*sent)
            elif device.coroutine is not None:
                # the evaluator, which measures the model of this moment: no wait for the processor
                channel.reply(device, device.incarnation, reply, size)
            # else the device is down, which the server cannot know
        if unsent:
            self._server.unsent(unsent, now)

    def _prefetched(
        self, device: VirtualDevice, reply: Reply, handles: dict[str, GradientHandle]
    ) -> Incoming:
        """Return `reply`, or in place of a model a handle on the gradient at that model.

        All pieces of an answer share the handle in `handles`.
        """
        learner = device.learner
        # the server takes no step between its answer and this call, so `pulled` is of that version
        if isinstance(reply, _WHOLE) and learner is not None:
            handle = learner.prefetch(self._server.pulled())
            return PrefetchedReply(reply.ticket, reply.version, handle)
        if isinstance(reply, _PIECE) and learner is not None:
            if device.name not in handles:
                handles[device.name] = learner.prefetch(self._server.pulled())
            return self._piece(reply, handles[device.name])
        return reply

    def _piece(
        self, reply: ModelSegment | PatchSegment, handle: GradientHandle
    ) -> PrefetchedSegment:
        """Return `reply` with `handle` in place of its parameters."""
        place, times = self._server.layout.place(reply.segment), reply.times
        if times is not None:  # the answer leaves when the processor is free
            times = Times(self._processors[LEADER].free(self._clock.now), times.arrived)
        size = place.stop - place.start
        return PrefetchedSegment(reply.ticket, reply.version, reply.segment, size, times, handle)
