"""The first process of a container: shapes the link, runs the container's part, plays its faults.

Only the supervisor may touch the network. The part (worker, evaluator or server) is a child process
under a user without any capability. The conductor writes verbs as lines of JSON to the supervisor's
standard input. The supervisor writes reports as lines of JSON to standard output, each with the
host's monotonic clock. When standard input ends, the conductor is gone, and the container ends.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DeploymentError
from ..shaping.apply import apply
from ..shaping.command import Command
from ..world import verbs
from ..world.battery import BatteryConstants
from ..world.fault_counts import FaultCounts
from ..world.powers import perform
from ..world.verbs import Setting
from . import config, memory
from .access_link import AccessLink
from .battery_feed import BatteryFeed
from .config import ENDINGS, GOODBYE, KEPT, NodeConfig
from .line_reader import LineReader
from .part_orders import HOLD, PartSettings
from .presser import Presser
from .revivals import Revivals

INTERFACE = Path("/sys/class/net/eth0/statistics")
GONE = (
    "the network interface eth0 is gone: the node has no link any more, and another interface "
    "would be unshaped"
)
SAMPLING = 1.0
"""Seconds between samples of the interface's counters."""

CONTROL = "EMULATE_CONTROL"
"""Environment variable with the file descriptor to which a part writes the faults that it draws,
and the records of its scheduler."""

PARTING = 5.0
"""Seconds that a part has to say goodbye when its device leaves."""

OBSERVED = ("plan", "iteration")
"""Kinds of records that a part makes itself, and the supervisor passes on."""


def main() -> None:
    """Run the supervisor of this container; exit with 1, and the reason, if the network fails."""
    node = config.read()
    supervisor = Supervisor(node, incarnation=node.incarnation)
    try:
        supervisor.run()
    except DeploymentError as error:
        if isinstance(error, InterfaceGoneError) or not INTERFACE.is_dir():
            supervisor.abandon()
            sys.exit(GONE)  # tc and nft, too, fail for this reason
        say("failed", detail=f"{node.name}: {error}")
        sys.exit(1)


class InterfaceGoneError(DeploymentError):
    """The container has lost the network interface."""


def say(what: str, **facts: Any) -> None:
    """Write a report of kind `what` to the conductor."""
    line = json.dumps({"what": what, "now": time.monotonic(), **facts})
    os.write(sys.stdout.fileno(), line.encode() + b"\n")


def pass_on(line: dict[str, Any]) -> None:
    """Report the record in `line`, which the part wrote, if it is of a kind that a part makes."""
    if line.get("record") in OBSERVED:
        say(line["record"], at=line["at"], **line["facts"])


@dataclass
class Supervisor:
    """Runs the part of a container, and does verbs to the part."""

    node: NodeConfig
    child: "subprocess.Popen[bytes] | None" = None
    """The part; None while it is down."""
    incarnation: int = 0
    """Boots of the part before the present one."""
    faults: FaultCounts = field(default_factory=FaultCounts)
    closing: bool = False
    """Whether the part has been asked to end."""
    keeps: bool = False
    """Whether the state of the part's last incarnation is kept for the next one."""
    parting: float | None = None
    """Clock time at which a part that says goodbye is killed; None: no part does."""
    later: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    """Ends of faults that the device drew itself: clock time when due, and the order."""
    settings: PartSettings = field(default_factory=PartSettings)
    """Settings of the faults that the part itself plays."""
    revivals: Revivals = field(default_factory=Revivals)
    """Boots of a durable server that died unasked."""
    holds: dict[str, Any] = field(default_factory=dict)
    """Changed delays of the messages that the server receives, by node."""
    battery: BatteryFeed | None = None
    """Battery of a device that has one."""
    presser: Presser = field(default_factory=Presser)
    """Takes memory while a fault presses the device."""
    starved: bool = False
    """Whether the kernel has killed the part for want of memory, and pressure still holds."""
    counts: memory.Counts = field(default_factory=memory.Counts.read)
    """The kernel's counts of memory events when the part was started."""

    def __post_init__(self) -> None:
        self.link = AccessLink(self.node.network)

    def run(self) -> None:
        """Shape the link, start the part, and do verbs until the part or the conductor ends."""
        signal.signal(signal.SIGTERM, lambda number, frame: self._close())
        apply(self.node.network.shape)
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, self._ordered)
        control, self.drawn_to = os.pipe()
        self.selector.register(control, selectors.EVENT_READ, self._drawn)
        self.orders, self.draws = LineReader(0), LineReader(control)
        if isinstance(self.node.part, config.WorkerRole) and self.node.part.battery:
            self.battery = BatteryFeed(BatteryConstants.read(self.node.part.battery))
        self._boot()
        say("ready")
        self._watch()
        self._take_last_records()
        self._sample()

    def _watch(self) -> None:
        """Handle orders, drawn faults, due ends and samples until the part has come to its end."""
        due = time.monotonic()
        while not self._finished():
            for key, _ in self.selector.select(self._until(due)):
                key.data()
            now = time.monotonic()
            if now >= due:
                self._sample()
                due = now + SAMPLING
            self._end_due(now)
            if self.starved and not self.faults.holds("press"):
                self._revive()
            if self.battery is not None and not self.closing:
                self._drain(self.battery, now)
            if self.parting is not None and now >= self.parting:
                self._end_part()

    def _end_due(self, now: float) -> None:
        """End the drawn faults whose ends are due by `now`, unless the part was asked to end."""
        due = [order for at, order in self.later if at <= now]
        self.later = [entry for entry in self.later if entry[0] > now]
        for order in due:
            if not self.closing:  # SIGTERM may come at any line
                self.obey(order)

    def _until(self, sample: float) -> float:
        """Return the seconds until something is due; `sample` is when the next sample is."""
        parting = [] if self.parting is None else [self.parting]
        due = min([sample, *parting, *(at for at, _ in self.later)])
        return min(0.2, max(0.0, due - time.monotonic()))  # no event tells of the child's end

    def _finished(self) -> bool:
        """Return whether the supervisor's work is over; report a part that ended unasked.

        A device whose part failed stays: the schedule may boot it again.
        """
        if self.child is None or self.child.poll() is None:
            return self.closing and self.child is None
        code, self.child = self.child.returncode, None
        if self.parting is not None:
            self.parting = None
            return self.closing
        if code and not self.closing:
            cause = memory.cause(self.counts, memory.Counts.read())
            self.starved = self.faults.holds("press") and bool(cause)
            returns = self.starved and any(order["verb"] == "release" for _, order in self.later)
            say("exit", code=code, cause=cause, returns=returns)
            if self.revivals.allows(self.node.part, time.monotonic()):
                self._boot_anew()
                return False
        return code == 0 or self.closing or not self._device

    @property
    def _device(self) -> bool:
        return isinstance(self.node.part, config.WorkerRole)

    # -- verbs ---------------------------------------------------------------------------------

    def obey(self, order: dict[str, Any]) -> None:
        """Do and report the verb of `order`, unless another fault of the verb holds the device."""
        verb, setting = order["verb"], order.get("setting")
        if verb == "stop":
            self._close(ENDINGS[order.get("reason", "canceled")])
        elif verb == HOLD:
            self.holds[order["node"]] = order["delay"]
            self.settings.change(HOLD, self.holds)
        elif self.faults.changes(verb, order.get("fault", "")):
            perform(self, verb, setting)
            self._report(verb, setting, order.get("planned"))

    def _report(self, verb: str, setting: Setting | None, planned: float | None) -> None:
        """Report `verb` as done. `planned` is None if the device drew the fault itself."""
        facts = {"fault": self.faults.kind(verb), "begins": verbs.begins(verb), "planned": planned}
        say(verbs.record(verb), **facts, **({} if setting is None else {"setting": setting}))

    def kill(self) -> None:
        """Cut the link, then kill the part: data that the kernel holds must not leave.

        The server's process dies alone: its kernel goes on and ends the connections.
        """
        if self._device:
            self._cut()
        self._end_part()
        self.keeps = False

    def halt(self) -> None:
        """Do as `kill`, but let the next incarnation go on from the stored state."""
        self._cut()
        self._end_part()
        self.keeps = not self.faults.holds("kill")

    def reboot(self) -> None:
        """Boot the part as the next incarnation, from the stored state."""
        self.start()

    def start(self) -> None:
        """Boot the part as the next incarnation, behind a cut link if a fault severs the device.

        A device that has left boots in `join`.
        """
        if self.child is not None:
            return
        if self._device and not self.faults.holds("sever"):
            apply(self.link.mend())
        if not (self.faults.ended or self.starved):
            self._boot_anew()

    def leave(self) -> None:
        """Ask the part to say goodbye and end; a part that is paused can do neither, and is killed.

        The link stays, so that the goodbye can leave.
        """
        self.keeps = False
        if self.child is None:
            return
        self.parting = time.monotonic() + PARTING
        if self.faults.holds("pause"):
            self._end_part()
        else:
            self._signal(GOODBYE)

    def join(self) -> None:
        """Boot the part as the next incarnation; a device that is killed boots in `start`."""
        if not (self.faults.ended or self.starved):
            self._end_part()  # which may still be saying goodbye
            self._boot_anew()

    def sever(self) -> None:
        """Cut the link."""
        self._cut()

    def mend(self) -> None:
        """Let packets through again; if the part is down, `start` does so later."""
        if not (self.faults.holds("kill") or self.faults.holds("halt")):
            apply(self.link.mend())

    def reshape(self, setting: Setting) -> None:
        """Change the link, in the kernel and where the part holds messages back."""
        self._reshape(setting)

    def restore(self) -> None:
        """Give the node its own link again."""
        self._reshape(None)

    def garble(self, setting: Setting) -> None:
        """Let the part flip bits in its messages."""
        self.settings.change("garble", setting)

    def clear(self) -> None:
        """Let the part flip no more bits."""
        self.settings.change("garble", None)

    def pause(self) -> None:
        """Freeze the part, unless the part has to end. Sockets live on in the kernel."""
        self._signal(signal.SIGSTOP)
        if self.closing:  # perhaps just now, in the handler of SIGTERM
            self._signal(signal.SIGCONT)

    def resume(self) -> None:
        """Let the part go on."""
        self._signal(signal.SIGCONT)

    def falsify(self, setting: Setting) -> None:
        """Let the part send lies in place of its gradients."""
        self.settings.change("falsify", setting)

    def reform(self) -> None:
        """Let the part send its gradients again."""
        self.settings.change("falsify", None)

    def _end_part(self) -> None:
        """Kill the part, unless the device is down."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None
        self.parting = None

    def press(self, setting: Setting) -> None:
        """Take memory. The kernel kills the part if it runs out: it has the highest score."""
        self._revive()
        limit = memory.limit()
        if limit is not None:
            self.presser.take(round(setting["share"] * limit), self.node.user)

    def release(self) -> None:
        """Release the memory; `_watch` boots a part that was killed, once this is reported."""
        self.presser.release()

    def _revive(self) -> None:
        """Boot a part that was killed for want of memory, unless another fault holds it."""
        starved, self.starved = self.starved, False
        if starved and not (self.closing or self.faults.ended):
            self.keeps = False  # its memory was lost
            self._boot_anew()

    def lag(self, setting: Setting) -> None:
        """Let the part wait before each gradient."""
        self.settings.change("lag", setting)

    def catch_up(self) -> None:
        """Let the part wait no more."""
        self.settings.change("lag", None)

    def _cut(self) -> None:
        """Cut the link while the part, which shares the CPU quota of the container, stands still.

        A part that is paused stays so, unless it was asked to end meanwhile.
        """
        self._apply_at_rest(self.link.sever())

    def _reshape(self, setting: Setting | None) -> None:
        """Change the link by `setting`; None gives the node its own link."""
        self._apply_at_rest(self.link.reshape(setting))
        delay = None if setting is None else self.link.received_delay()
        self.settings.change("reshape", None if delay is None else delay.plain())

    def _apply_at_rest(self, commands: list[Command]) -> None:
        """Run `commands` while the part stands still."""
        self._signal(signal.SIGSTOP)
        try:
            apply(commands)
        finally:
            if self.closing or not self.faults.holds("pause"):
                self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.child is not None:
            self.child.send_signal(number)

    def _close(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask the part to end, by the signal `how`; the engine grants it a few seconds."""
        self.closing = True
        self.later.clear()
        self._signal(how)
        self._signal(signal.SIGCONT)  # a paused part receives `how` only when it goes on

    def _boot_anew(self) -> None:
        """Start the part as the next incarnation."""
        self.incarnation += 1
        self._boot()

    def _boot(self) -> None:
        """Start the part as the present incarnation, paused if a fault pauses the device."""
        self.counts = memory.Counts.read()
        self.child = subprocess.Popen(
            [
                *(sys.executable, "-m", "emulator.node.role", str(self.incarnation)),
                *([KEPT] if self.keeps else []),
            ],
            stdin=subprocess.PIPE,
            bufsize=0,
            stdout=sys.stderr.fileno(),
            user=self.node.user,
            group=self.node.user,
            extra_groups=[],
            pass_fds=[self.drawn_to],
            env={**os.environ, CONTROL: str(self.drawn_to)},
        )
        self.settings.booted(self.child.stdin)
        if self.faults.holds("pause"):
            self.pause()
        if self.closing:  # SIGTERM may have come before there was a part to pass it on to
            self._close()

    # -- input -----------------------------------------------------------------------------------

    def _ordered(self) -> None:
        """Do the verbs that the conductor has sent; end the container if the conductor is gone."""
        lines = self.orders.read()
        if lines is None:
            self.selector.unregister(0)
            self.abandon()
            return
        for line in lines:
            self.obey(json.loads(line))

    def abandon(self) -> None:
        """Kill the part without a report: the container ends."""
        self.closing = True
        if self.child is not None:
            self.child.kill()

    def _drawn(self) -> None:
        """Begin the faults that the device has drawn, and plan their ends; pass on its records."""
        for line in self.draws.read() or ():
            drawn = json.loads(line)
            if "record" in drawn:
                pass_on(drawn)
                continue
            if "begun" in drawn:
                if self.battery is not None:
                    self.battery.begin(drawn["begun"], _counters())
                continue
            if verbs.row(drawn["begin"]).by == "engine":
                say("drawn", **drawn)  # the conductor begins and ends it
                continue
            order = {"verb": drawn["begin"], "fault": drawn["fault"]}
            self.obey({**order, "setting": drawn.get("setting")})
            if drawn["lasts"] is not None:
                # counted from the moment at which the verb was done, as the log has it
                until = time.monotonic() + drawn["lasts"]
                self.later.append((until, {**order, "verb": drawn["end"]}))
            elif verbs.row(drawn["begin"]).silences:
                say("lost")  # the device is gone for good, which no record of a verb says

    def _take_last_records(self) -> None:
        """Pass on the records that the part wrote before it ended."""
        while any(key.data == self._drawn for key, _ in self.selector.select(0)):
            for line in self.draws.read() or ():
                pass_on(json.loads(line))

    def _sample(self) -> None:
        """Report the interface's byte counters. Raises InterfaceGoneError without an interface."""
        rx, tx = _counters()
        say("traffic", rx=rx, tx=tx)

    def _drain(self, battery: BatteryFeed, now: float) -> None:
        """Feed `battery` up to `now`; switch the device off if it is empty, on if it is back."""
        pid = None if self.child is None else self.child.pid
        verb = battery.tick(now, pid, _counters())
        if verb is not None:
            self.obey({"verb": verb, "fault": "energy"})
            say("battery", charge=battery.level())
            if battery.lost:
                say("lost")
        elif (level := battery.news()) is not None:
            say("battery", charge=level)


def _counters() -> tuple[int, int]:
    """Return the bytes that the interface has received and sent. Raises InterfaceGoneError."""
    try:
        rx, tx = (int((INTERFACE / f"{way}_bytes").read_text()) for way in ("rx", "tx"))
    except OSError as error:
        raise InterfaceGoneError(GONE) from error
    return rx, tx
