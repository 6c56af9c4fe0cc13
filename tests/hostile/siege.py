"""A server between honest and hostile devices, in windows with and without an attack in turn."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from emulator import modulation, plugins
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.zmtp import Form
from emulator.learning import models
from emulator.node.part.server_role import SLACK, largest_frame
from emulator.world.stop_conditions import Stop
from tests.fakes.node.durable_process import DrawnGradients, ServerProcess, fleet, free_port

from .attackers import Attack
from .messages import CODEC

MODEL = "digits-mlp"
HONEST = tuple(f"honest-{number}" for number in range(8))
HOSTILE = tuple(f"hostile-{number}" for number in range(5))
"""Devices of the run: the last one never reads; with PLAIN the one before breaks the framing."""
OUTSIDERS = 2
GRADIENT = 0.02
"""Seconds of an honest device's gradient."""
WARM_UP = 3.0
SETTLING = 0.2
"""Seconds between two windows that count for neither."""
TICK = 0.02
"""Seconds between two looks at how late this process is woken."""
COMING_BACK = 60.0
"""Seconds within which a killed server must make updates again."""


@dataclass(frozen=True)
class Order:
    """Number of messages, their pace (a second), and the length of a window in seconds."""

    messages: int
    pace: float
    window: float
    seed: int
    encrypted: bool = False
    durable: bool = True
    """Whether the server keeps every input on disk, before it judges the input."""


@dataclass
class Windows:
    """Seconds, honest updates and seconds of the server's core, over windows of one sort."""

    seconds: float = 0.0
    updates: int = 0
    processor: float = 0.0
    rates: list[float] = field(default_factory=list)
    """Updates per second of each window."""

    def add(self, seconds: float, updates: int, processor: float) -> None:
        self.seconds += seconds
        self.updates += updates
        self.processor += processor
        self.rates.append(updates / seconds)

    @property
    def rate(self) -> float:
        """Updates per second."""
        return self.updates / self.seconds


@dataclass
class Siege:
    """An attack, as it was seen from outside the server."""

    order: Order
    attacked: Windows = field(default_factory=Windows)
    quiet: Windows = field(default_factory=Windows)
    ratios: list[float] = field(default_factory=list)
    """Honest updates per second with an attack over those without, of neighbouring windows."""
    before: int = 0
    """Bytes of the server's memory before the first attack."""
    peak: int = 0
    """The most that the kernel has seen, so that no moment is missed."""
    after: int = 0
    disk: int = 0
    """Most bytes of the server's states and inputs on disk."""
    stall: float = 0.0
    """Longest time for which an honest device had no model, in seconds."""
    late: float = 0.0
    """Longest time by which this process, which plays the honest devices, was woken too late."""
    sent: int = 0
    seconds: float = 0.0
    """Seconds of all attacks."""
    counts: dict[str, Any] = field(default_factory=dict)
    """As `Attackers.counts` returns them."""
    alive: bool = False
    """Whether the server has ended by itself when it was asked to, with exit code 0."""
    back: bool = True
    """Whether the server, killed after the attack, has come back and taken updates."""


def plan_of(order: Order) -> Plan:
    codec = plugins.plain(CODEC)
    fleet = len(HONEST) + len(HOSTILE)
    form = Form(encrypted=order.encrypted, durable=order.durable)
    worker = WorkerPlan(seed=1, batch_size=10, codec=codec, fleet=fleet, form=form)
    return Plan(
        worker=worker,
        model=MODEL,
        learning_rate=0.1,
        workers=(*HONEST, *HOSTILE),
        modulation=plugins.plain(modulation.PerParameter()),
        stop=Stop(updates=10**9),
        durability=Durability() if order.durable else None,
    )


def lay(order: Order, folder: Path, say: Callable[[str], None]) -> Siege:
    """Attack a server that writes to `folder`; call `say` with the progress."""
    siege, plan = Siege(order), plan_of(order)
    server = ServerProcess(plan, folder, free_port())
    server.start()
    with fleet(plan, server, GRADIENT, HONEST) as learners:
        try:
            with _attackers(order, plan, server, folder) as attackers:
                time.sleep(WARM_UP)
                siege.before, begun = memory(server), time.monotonic()
                with _lateness(siege):
                    while siege.sent < order.messages:
                        _alternate(siege, server, attackers, learners)
                        rates = siege.attacked.rate, siege.quiet.rate
                        say(f"{siege.sent} messages; {rates[0]:.1f} and {rates[1]:.1f} updates/s")
                times = [learner.models for learner in learners]
                siege.stall = longest(times, begun, time.monotonic())
                siege.peak, siege.after = memory(server, "VmHWM"), memory(server)
                siege.counts = attackers.end()
            if order.durable:
                siege.back = _comes_back(server, learners)
        finally:
            assert server.process is not None
            server.process.terminate()  # honest devices wait for its goodbye
            siege.alive = server.wait(60) == 0
    return siege


def _alternate(
    siege: Siege, server: ServerProcess, attackers: "_Process", learners: list[DrawnGradients]
) -> None:
    """Count a window with an attack and one without; every other time the attack comes first."""
    order = [siege.quiet, siege.attacked]
    for windows in order if len(siege.ratios) % 2 else reversed(order):
        if windows is siege.quiet:
            _count(windows, siege, server, learners)
            continue
        begun = time.monotonic()
        attackers.begin()
        _count(windows, siege, server, learners)
        siege.sent = attackers.pause()
        siege.seconds += time.monotonic() - begun
    siege.ratios.append(siege.attacked.rates[-1] / siege.quiet.rates[-1])


def _count(
    windows: Windows, siege: Siege, server: ServerProcess, learners: list[DrawnGradients]
) -> None:
    """Add a window from this moment on to `windows`."""
    time.sleep(SETTLING)
    began, work = time.monotonic(), server.processor_time()
    time.sleep(siege.order.window)
    now = time.monotonic()
    siege.disk = max(siege.disk, _kept(server.output))
    models_in = (sum(began <= at < now for at in learner.models) for learner in learners)
    windows.add(now - began, sum(models_in), server.processor_time() - work)


def memory(server: ServerProcess, what: str = "VmRSS") -> int:
    """Return the bytes of the server's resident memory: now, or with `VmHWM` at the most.

    OSError if the server has died.
    """
    assert server.process is not None
    if (code := server.process.poll()) is not None:
        raise OSError(f"the server has died, exit code {code}")
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    (size,) = (line.split()[1] for line in lines if line.startswith(f"{what}:"))
    return 1024 * int(size)


def longest(times: Sequence[Sequence[float]], begin: float, end: float) -> float:
    """Return the longest time between `begin` and `end` without one of a device's `times`."""
    gaps = [0.0]
    for own in times:
        inside = [begin, *(at for at in own if begin <= at <= end), end]
        gaps += [then - now for now, then in pairwise(inside)]
    return max(gaps)


@contextmanager
def _lateness(siege: Siege) -> Iterator[None]:
    """Note in `siege` how late a thread of this process is woken at most."""
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            due = time.monotonic() + TICK
            ended.wait(TICK)
            siege.late = max(siege.late, time.monotonic() - due)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _kept(folder: Path) -> int:
    """Return the bytes of the states and inputs in `folder`, the server's."""
    size = 0
    for file in folder.rglob("*"):
        if file.name != "run.jsonl":
            with suppress(FileNotFoundError):  # an old state goes once a newer one is there
                size += file.stat().st_size
    return size


def _comes_back(server: ServerProcess, learners: list[DrawnGradients]) -> bool:
    """Kill the server and start it anew; return whether every honest device gets models again."""
    server.kill()
    server.start()
    begun = time.monotonic()
    while time.monotonic() < begun + COMING_BACK:
        if server.recoveries() and all(own.models[-1] > begun for own in learners):
            return True
        time.sleep(0.2)
    return False


class _Process:
    """The attackers' process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def begin(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def pause(self) -> int:
        """End the attack; return the messages sent so far."""
        self.begin()
        return int(self.answer())

    def end(self) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.close()
        counts: dict[str, Any] = json.loads(self.answer())
        return counts

    def answer(self) -> str:
        assert self._process.stdout
        if line := self._process.stdout.readline():
            return line
        raise OSError(f"the attackers have ended, exit code {self._process.wait()}")


@contextmanager
def _attackers(order: Order, plan: Plan, server: ServerProcess, folder: Path) -> Iterator[_Process]:
    """Start the attackers; go on once they have said hello, and so the run has begun."""
    secrets = {name: server.secrets[name] for name in HOSTILE}
    largest = largest_frame(plan, models.find(MODEL)) + SLACK
    facts = HONEST[0], MODEL, largest, order.pace, OUTSIDERS, order.seed
    file = folder / "attack.json"
    file.write_bytes(msgspec.json.encode(Attack(server.address, secrets, *facts)))
    # Attackers are on machines of their own: the cores of this one are the server's first.
    command = ["nice", "-n", "19", sys.executable, "-m", "tests.hostile.attackers", str(file)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        try:
            attackers = _Process(process)
            attackers.answer()
            yield attackers
        finally:
            process.kill()
