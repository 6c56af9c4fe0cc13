"""The verbs of the table, done to a container: to the part, the access link and the memory."""

import math
import signal
from collections.abc import Callable
from functools import partial

from ...shaping import joined_networks
from ...shaping.command import Command, apply
from ...transport.wake_up import wake_queues
from ...world.links import reshaping
from ...world.links.link import Link
from ...world.links.link_course import link_course
from ...world.powers import FaultCounts
from ...world.verbs import Setting
from .. import control_group
from ..config import GOODBYE, Delay, NodeConfig, ProgramRole, Reshaping, WorkerRole
from ..fidelity.queue_counters import Queue
from ..link.access_link import AccessLink
from ..link.box_end import BoxEnd
from ..orders import PAUSED, PartSettings
from ..reports import say
from .part_process import PartProcess
from .presser import MemoryChange, Presser
from .program_process import ProgramProcess

PARTING = 5.0
"""Seconds that a part has to say goodbye when its device leaves."""


class PartPowers:
    """Power over the part and the link of a container: a method for every verb of a node.

    `faults` counts the faults that hold the node, for verbs that overlap.
    """

    def __init__(self, node: NodeConfig) -> None:
        self._node, self.clock = node, node.clock
        boxed = node.network.boxed
        self._box = None if boxed is None else BoxEnd(node.name, boxed)
        self._link = AccessLink(node.network, self._box)
        self.schedule = LinkSchedule(node.network.reshaping)
        """The dated changes of the node's link."""
        self.part = _process(node)
        self.faults = FaultCounts()
        self.settings = PartSettings()
        """Settings of the faults that the part itself plays."""
        self.presser = Presser()
        """Takes memory while a fault presses the device."""
        self.pressing: MemoryChange | None = None
        """The press or release that is under way, during which the part stands still."""
        self._paused = 0.0  # seconds for which the part has stood still, for faults
        self._paused_at: float | None = None  # when the present pause began
        self.closing = False
        """Whether the part has been asked to end."""
        self.parting: float | None = None
        """Clock time at which a part that says goodbye is killed; None: no part does."""
        self.starved = False
        """Whether the kernel has killed the part for want of memory, and pressure still holds."""

    @property
    def on_device(self) -> bool:
        """Whether the part is a worker, or the program of a device."""
        part = self._node.part
        return isinstance(part, WorkerRole) or (isinstance(part, ProgramRole) and part.device)

    @property
    def link_in_force(self) -> Link | None:
        """The link that the node should have now; None if no fault changes it."""
        return self._link.in_force

    @property
    def at_rest(self) -> bool:
        """Whether the part has to stand still; a part that was asked to end never has."""
        paused = self.faults.holds("pause") or self.pressing is not None
        return paused and not self.closing

    def box_losses(self) -> dict[str, tuple[int, int]]:
        """Return the counts of the box as `BoxEnd.losses` does; empty without a box."""
        return {} if self._box is None else self._box.losses()

    def box_queues(self) -> dict[str, Queue]:
        """Return the queues in the box as `BoxEnd.queues` does; empty without a box."""
        return {} if self._box is None else self._box.queues()

    def shape(self) -> None:
        """Make the container's network the near end of the node's link. Raises DeploymentError."""
        if self._node.network.joins > 1:
            joined_networks.join(self._node.network.joins)
        apply(self._node.network.shape)
        if self._box is not None:
            self._box.attach()
        if known := self._node.network.known:
            apply(known)

    # -- the part's life -----------------------------------------------------------------------

    def boot(self, anew: bool = True) -> None:
        """Start the part, which stands still at once if it has to.

        With `anew` it is the next incarnation, otherwise the present one.
        """
        self.settings.booted(self.part.boot(anew))
        self._begin_right()

    def forked(self, pid: int | None) -> None:
        """Adopt the process `pid` as the part that is being forked; execute the part if None."""
        if not self.part.coming:
            return
        if pid is not None:
            self.part.adopt(pid)
            self._begin_right()
        else:
            self.part.disown()
            self.boot(anew=False)

    def _begin_right(self) -> None:
        """Let a part that was started stand still, or end, if it has to."""
        if self.at_rest:
            self.pause()
        if self.closing:  # SIGTERM may have come before there was a part to pass it on to
            self.close()

    def close(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask the part to end, by the signal `how`; the engine grants it a few seconds."""
        self.closing = True
        self.part.signal(how)
        self.part.signal(signal.SIGCONT)  # a paused part receives `how` only when it goes on

    def end_part(self) -> None:
        """Kill the part, unless the device is down."""
        self.part.kill()
        self.parting = None

    def revive(self) -> None:
        """Boot a part that was killed for want of memory, unless another fault forbids a boot."""
        starved, self.starved = self.starved, False
        if starved and not (self.closing or self.faults.ended):
            self.part.keeps = False  # its memory was lost
            self.boot()

    # -- verbs ---------------------------------------------------------------------------------

    def kill(self) -> None:
        """Cut the link, then kill the part: data that the kernel holds must not leave.

        The server's process dies alone: its kernel goes on and ends the connections.
        """
        if self.on_device:
            self._cut()
        self.end_part()
        self.part.keeps = False

    def halt(self) -> None:
        """Do as `kill`, but let the next incarnation go on from the stored state."""
        self._cut()
        self.end_part()
        self.part.keeps = not self.faults.holds("kill")

    def reboot(self) -> None:
        """Boot the part as the next incarnation, from the stored state."""
        self.start()

    def start(self) -> None:
        """Boot the part as the next incarnation, behind a cut link if a fault severs the device.

        A device that has left boots in `join`.
        """
        if not self.part.down:
            return
        if self.on_device and not self.faults.holds("sever"):
            apply(self._link.mend())
        if not (self.faults.ended or self.starved):
            self.boot()

    def leave(self) -> None:
        """Ask the part to say goodbye and end; a part that is paused can do neither, and is killed.

        The link stays, so that the goodbye can leave.
        """
        self.part.keeps = False
        if self.part.down:
            return
        self.parting = self.clock.now() + PARTING
        if self.faults.holds("pause"):
            self.end_part()
        else:
            self.part.signal(GOODBYE)

    def join(self) -> None:
        """Boot the part as the next incarnation; a device that is killed boots in `start`."""
        if not (self.faults.ended or self.starved):
            self.end_part()  # which may still be saying goodbye
            self.boot()

    def sever(self) -> None:
        """Cut the link."""
        self._cut()

    def mend(self) -> None:
        """Let packets through again; if the part is down, `start` does so later."""
        if not (self.faults.holds("kill") or self.faults.holds("halt")):
            apply(self._link.mend())

    def reshape(self, setting: Setting) -> None:
        """Change the link, in the kernel and where the part holds messages back."""
        self._reshape(setting)

    def restore(self) -> None:
        """Give the node's own link back."""
        self._reshape(None)

    def change(self, verb: str, setting: Setting | None) -> None:
        """Make the part play `verb` under `setting`; None ends it."""
        self.settings.change(verb, setting)

    def pause(self) -> None:
        """Freeze the part, unless the part has to end. Sockets live on in the kernel."""
        if self._paused_at is None:
            self._paused_at = self.clock.now()
        self.part.signal(signal.SIGSTOP)
        if self.closing:  # perhaps just now, in the handler of SIGTERM
            self.part.signal(signal.SIGCONT)

    def resume(self) -> None:
        """Let the part go on, unless a press or release keeps it at rest."""
        self._wake_part()

    def press(self, setting: Setting) -> None:
        """Begin to take memory, which `press_on` goes on with, while the part stands still.

        If memory runs out, the kernel kills the part: its score is the highest.
        """
        if self.pressing is not None:  # a release
            self.pressing.cut_short()
        self.revive()
        limit = control_group.memory_limit()
        if limit is None:
            return
        size = round(setting["share"] * (self._node.memory or limit))
        take = partial(self.presser.take, size, self._node.user)
        self.pressing = MemoryChange(take, self.presser.held, self.clock)
        self.pause()

    def press_on(self) -> None:
        """Go on with the press or release that is under way; at its end let the part go on."""
        if self.pressing is None:
            return
        self.pressing.go_on()
        if self.pressing.over:
            self.pressing = None
            self._wake_part()

    def release(self) -> None:
        """Begin to release the memory, which `press_on` goes on with, while the part stands still.

        The supervisor reports the release, then boots a part that was killed.
        """
        if self.pressing is not None:  # a press, which is on record from its end to its end
            self.pressing.cut_short()
        if self.presser.runs:
            free = self.presser.release
            self.pressing = MemoryChange(free, lambda: True, self.clock, last=True)
            self.pause()

    def _cut(self) -> None:
        """Cut the link while the part, which shares the CPU quota of the container, stands still.

        A part that is paused stays so, unless it was asked to end meanwhile.
        """
        self._apply_at_rest(self._link.sever)

    def _reshape(self, setting: Setting | None) -> None:
        """Change the link by `setting`. None gives the node's own link back."""
        self._apply_at_rest(lambda: self._link.reshape(setting))
        own = setting is None and not self.schedule.changes
        self._tell_delay(None if own else self._link.received_delay())
        self._wake()

    def change_link(self) -> None:
        """Make the link of the schedule the node's own; a fault in force changes it."""
        self._apply_at_rest(lambda: self._link.change_own(self.schedule.link))
        self._tell_delay(self._link.received_delay())
        self._wake()

    def sent_delay(self) -> Delay | None:
        """Return the time for which the server has to hold back the node's messages from now on.

        None if the schedule of the link does not change it.
        """
        return self._link.sent_delay() if self.schedule.changes else None

    def _tell_delay(self, delay: Delay | None) -> None:
        """Tell the part for how long it holds received messages; None: as it was configured."""
        plain = None if delay is None else delay.plain()
        if plain != self.settings.of("reshape"):
            self.settings.change("reshape", plain)

    def _wake(self) -> None:
        """Wake up the queues of a slow link that has become faster."""
        if self._link.risen and isinstance(self._node.part, WorkerRole):
            wake_queues(self._node.part.connection.address)

    def _apply_at_rest(self, commands: Callable[[], list[Command]]) -> None:
        """Run the commands that `commands` returns, while the part stands still."""
        self.part.freeze()
        try:
            apply(commands())
        finally:
            self._wake_part()

    def _wake_part(self) -> None:
        """Let the part go on, unless it has to stand still."""
        if self.at_rest:
            return
        if self._paused_at is not None:
            self._paused += self.clock.now() - self._paused_at
            self._paused_at = None
            if self.on_device:  # before it goes on, so that it learns of a pause in its pass
                self.settings.change(PAUSED, {"seconds": self._paused})
        self.part.signal(signal.SIGCONT)


def _process(node: NodeConfig) -> PartProcess | ProgramProcess:
    """Return the process of the part of `node`, which does not run yet."""
    if isinstance(node.part, ProgramRole):
        return ProgramProcess(say)
    return PartProcess(node.user, node.incarnation)


class LinkSchedule:
    """The links that a node's steps and traces make of its link, one after the other."""

    def __init__(self, facts: Reshaping | None) -> None:
        """`facts`: None for a constant link."""
        link = Link() if facts is None else reshaping.read(facts.link)
        self.changes = link.changes
        """Whether the link changes by itself."""
        since, draw = (facts.since, facts.draw) if facts else (0.0, 0.0)
        self._course = link_course(link, draw, since)
        self.link = next(self._course)[1]
        """The link of the moment."""
        self._following = next(self._course, None)
        self._zero: float | None = None
        self._taken = 0.0  # when the change that is being made was due
        self.played, self.latest = 0, 0.0
        """Number of changes so far, and the emulated seconds by which the latest one was late."""

    def begin(self, zero: float) -> None:
        """Take the run's `zero`, a time of the node's clock: the changes are due from then on."""
        self._zero = zero

    @property
    def due(self) -> float:
        """The time of the clock at which the next change is due; infinite if none is known."""
        if self._zero is None or self._following is None:
            return math.inf
        return self._zero + self._following[0]

    def take(self, now: float) -> bool:
        """Bring `link` up to the time `now` of the clock; return whether a change was due."""
        if now < self.due:
            return False
        self._taken = self.due
        while now >= self.due and self._following is not None:
            self.link = self._following[1]
            self._following = next(self._course, None)
        self.played += 1
        return True

    def done(self, now: float) -> bool:
        """Take that `link` is in force at the time `now`; return whether none was later so far."""
        late, before = now - self._taken, self.latest
        self.latest = max(before, late)
        return late > before
