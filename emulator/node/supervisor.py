"""The first process of a container: shapes its link, runs its part, does to it what it is told.

It alone may touch the network. The part (worker, evaluator or server) is its child, under
a user without any capability. Verbs come as lines of JSON on standard input, and what was
done goes out as lines of JSON on standard output, each with the reading of the host's clock
at which it was done. When standard input ends, whoever ran the world is gone, and the
container goes too.
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
from ..world import verbs
from . import config, memory
from .config import ENDINGS, NodeConfig
from .line_reader import LineReader

INTERFACE = Path("/sys/class/net/eth0/statistics")
GONE = (
    "the network interface eth0 is gone: the node has no link any more, and another interface "
    "would be unshaped"
)
SAMPLING = 1.0
"""Seconds between samples of the interface's counters."""

CONTROL = "EMULATE_CONTROL"
"""Environment variable with the file descriptor on which a part tells its supervisor things."""


def main() -> None:
    node = config.read()
    supervisor = Supervisor(node)
    try:
        supervisor.run()
    except DeploymentError as error:
        if isinstance(error, InterfaceGoneError) or not INTERFACE.is_dir():
            supervisor.abandon()
            sys.exit(GONE)  # tc and nft, too, fail for this reason
        say("failed", detail=f"{node.name}: {error}")
        sys.exit(1)


class InterfaceGoneError(DeploymentError):
    """Someone took the container's network interface away."""


def say(what: str, **facts: Any) -> None:
    """One line to whoever runs the world."""
    line = json.dumps({"what": what, "now": time.monotonic(), **facts})
    os.write(sys.stdout.fileno(), line.encode() + b"\n")


@dataclass
class Supervisor:
    """The state of one emulated device: on or off, connected or severed."""

    node: NodeConfig
    child: "subprocess.Popen[bytes] | None" = None
    incarnation: int = 0
    faults: verbs.FaultCounts = field(default_factory=verbs.FaultCounts)
    closing: bool = False
    later: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    """Verbs that are due at a time, for faults that the device drew itself."""
    counts: memory.Counts = field(default_factory=memory.Counts.read)
    """The kernel's counts when the child was started."""

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda number, frame: self._close())
        apply(self.node.network.shape)
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, self._ordered)
        control, self.told = os.pipe()
        self.selector.register(control, selectors.EVENT_READ, self._reported)
        self.orders, self.reports = LineReader(0), LineReader(control)
        self._boot()
        say("ready")
        self._watch()
        self._sample()

    def _watch(self) -> None:
        due = time.monotonic()
        while not self._finished():
            for key, _ in self.selector.select(self._until(due)):
                key.data()
            now = time.monotonic()
            if now >= due:
                self._sample()
                due = now + SAMPLING
            for at, order in [entry for entry in self.later if entry[0] <= now]:
                self.later.remove((at, order))
                self.obey(order)

    def _until(self, sample: float) -> float:
        due = min([sample, *(at for at, _ in self.later)])
        return min(0.2, max(0.0, due - time.monotonic()))  # looks for the child's end, too

    def _finished(self) -> bool:
        """Whether the part came to its own end; says so if that was not a good one."""
        if self.child is None or self.child.poll() is None:
            return self.closing and self.child is None
        code, self.child = self.child.returncode, None
        if code and not self.closing:
            say("exit", code=code, cause=memory.cause(self.counts, memory.Counts.read()))
        return code == 0 or self.closing or not self._device

    @property
    def _device(self) -> bool:
        return isinstance(self.node.part, config.WorkerRole)

    # -- verbs ---------------------------------------------------------------------------------

    def obey(self, order: dict[str, Any]) -> None:
        """Do one verb, and say when it was done."""
        verb = order["verb"]
        if verb == "stop":
            self._close(ENDINGS[order.get("reason", "canceled")])
        elif self.faults.changes(verb):
            verbs.perform(self, verb)
            self._report(verb, order.get("fault", ""), order.get("planned"))

    def _report(self, verb: str, fault: str, planned: float | None) -> None:
        """Say that `verb` was done. `planned` is None where the device drew the fault itself."""
        say(verbs.record(verb), fault=fault, begins=verbs.begins(verb), planned=planned)

    def kill(self) -> None:
        """Cut the link, then kill the part: what its kernel still holds must not leave."""
        self._cut()
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None

    def start(self) -> None:
        """Boot the part as its next incarnation; its link stays cut while a fault severs it."""
        if self.child is not None:
            return
        self.incarnation += 1
        if not self.faults.holds("sever"):
            apply(self.node.network.mend)
        self._boot()

    def sever(self) -> None:
        """Cut the link."""
        self._cut()

    def mend(self) -> None:
        """Let everything through again, unless the part is down: then `start` does."""
        if not self.faults.holds("kill"):
            apply(self.node.network.mend)

    def pause(self) -> None:
        """Freeze the part, whose sockets live on in the kernel; not one that is to end."""
        self._signal(signal.SIGSTOP)
        if self.closing:  # perhaps just now, in the handler of SIGTERM
            self._signal(signal.SIGCONT)

    def resume(self) -> None:
        """Let the part go on."""
        self._signal(signal.SIGCONT)

    def _cut(self) -> None:
        """Cut the link while the part, which shares the CPU quota of the container, stands still.

        A part that is paused stays so, unless it was asked to end meanwhile.
        """
        self._signal(signal.SIGSTOP)
        try:
            apply(self.node.network.sever)
        finally:
            if self.closing or not self.faults.holds("pause"):
                self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.child is not None:
            self.child.send_signal(number)

    def _close(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Let the part end by itself; it has a few seconds before the container goes."""
        self.closing = True
        self.later.clear()
        self._signal(how)
        self._signal(signal.SIGCONT)  # a part that is paused hears of `how` when it goes on

    def _boot(self) -> None:
        self.counts = memory.Counts.read()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "emulator.node.role", str(self.incarnation)],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            user=self.node.user,
            group=self.node.user,
            extra_groups=[],
            pass_fds=[self.told],
            env={**os.environ, CONTROL: str(self.told)},
        )
        if self.faults.holds("pause"):
            self.pause()

    # -- what comes in ---------------------------------------------------------------------------

    def _ordered(self) -> None:
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

    def _reported(self) -> None:
        """The device drew a fault: it strikes now, and ends by itself."""
        for line in self.reports.read() or ():
            report = json.loads(line)
            order = {"verb": report["begin"], "fault": report["fault"]}
            self.obey(order)
            if report["lasts"] is None:
                if verbs.row(report["begin"]).silences:
                    say("lost")  # for good, which the verb alone does not tell
            else:  # it lasts from when it was done, as the log tells it
                until = time.monotonic() + report["lasts"]
                self.later.append((until, {**order, "verb": report["end"]}))

    def _sample(self) -> None:
        try:
            rx, tx = (int((INTERFACE / f"{way}_bytes").read_text()) for way in ("rx", "tx"))
        except OSError as error:
            raise InterfaceGoneError(GONE) from error
        say("traffic", rx=rx, tx=tx)
