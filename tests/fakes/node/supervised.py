"""A supervisor as a plain child of the test, told and heard over its real pipes.

Its part only sleeps, and its network only takes notes.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from emulator.core.plan import Plan, WorkerPlan
from emulator.core.zmtp import Heartbeat
from emulator.node import config, reports
from emulator.node.config import Network, NodeConfig, ServerAddress, ServerRole, WorkerRole
from emulator.node.orders import (
    AnyOrder,
    Do,
    Forked,
    HoldMessages,
    QuotaAnswer,
    StopPart,
    Zero,
    encode,
)
from emulator.node.reports import NodeReport, QuotaReport, VerbReport
from emulator.shaping.command import Command
from emulator.transport.secrets import Guests, Token
from emulator.world import verbs

HARNESS = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from emulator.errors import DeploymentError
from emulator.node import config, supervisor, interface
from emulator.node.part import part_powers

folder = Path(sys.argv[1])
node = config.read(folder / "node.json")
config.read = lambda: node
interface.INTERFACE = folder / "eth0"
popen = subprocess.Popen

def apply(commands):
    words = [str(command) for command in commands]
    if "refuse" in words:
        raise DeploymentError("tc refused: refuse")
    line = {"now": time.monotonic(), "report": {"what": "applied", "words": words}}
    os.write(1, json.dumps(line).encode() + b"\\n")

def part(command, **options):
    assert (options.pop("user"), options.pop("group"), options.pop("extra_groups")) == (9, 9, [])
    assert options.pop("start_new_session")  # else the test would not end it with its group
    assert command[1:3] == ["-m", "emulator.node.part.role"]
    started = popen([sys.executable, str(folder / "part.py"), *command[3:]], **options)
    if (folder / "terminated").exists():
        os.kill(os.getpid(), signal.SIGTERM)
    return started

part_powers.apply = apply
subprocess.Popen = part
supervisor.main()
"""


SLEEPS = "import time; time.sleep(60)"


NETWORK = Network(
    shape=[Command.of("shape")], sever=[Command.of("sever")], mend=[Command.of("mend")]
)


BEAT = Heartbeat()


PLAN = Plan(WorkerPlan(1, 10, {"kind": "dense"}), "m", 0.1, workers=("far",))


WORKER = WorkerRole(ServerAddress("tcp://x:1", Token("far", "secret"), BEAT, 30.0), PLAN.worker)


SERVER = ServerRole(Guests({}), BEAT, PLAN)


def order(verb: str, **facts: Any) -> AnyOrder:
    """Return the order with this `verb`, or of the kind `stop`, `hold` or `zero`, or an answer."""
    match verb:
        case "stop":
            return StopPart(facts.get("reason", "canceled"))
        case "hold":
            return HoldMessages(**facts)
        case "zero":
            return Zero(**facts)
        case "forked":
            return Forked(facts["pid"])
        case "lift_quota" | "lower_quota":
            return QuotaAnswer(verb == "lift_quota", facts["press"])
    return Do(verb, **facts)


class Container:
    """A supervisor at work, seen from outside."""

    def __init__(
        self, folder: Path, part: str, role: Any, network: Network, *, forked: bool = False
    ) -> None:
        self.folder = folder
        node = NodeConfig("far", 9, role, network, forked=forked)
        config.write(node, folder / "node.json")
        (folder / "part.py").write_text(part)
        for way in ("rx", "tx"):
            (folder / "eth0").mkdir(exist_ok=True)
            (folder / "eth0" / f"{way}_bytes").write_text("1200\n")
        self.process = subprocess.Popen(
            [sys.executable, "-c", HARNESS, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def tell(self, verb: str, **facts: Any) -> None:
        self.write(encode(order(verb, **facts)).decode() + "\n")

    def write(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def hear(self, what: str) -> dict[str, Any]:
        """The next report of this kind; others are let pass."""
        return self.hear_all(what)[-1]

    def hear_all(self, what: str) -> list[dict[str, Any]]:
        """All reports up to the next of this kind."""
        assert self.process.stdout
        heard = []
        for line in self.process.stdout:
            heard.append(read(line))
            if heard[-1]["what"] == what:
                return heard
        raise AssertionError(f"ended without {what}: {heard} {self._errors()}")

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """Return the exit code and the reports before the end."""
        assert self.process.stdout
        heard = [read(line) for line in self.process.stdout]
        return self.process.wait(timeout=10), heard

    def hang_up(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def close(self) -> None:
        self._kill()
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout, self.process.stderr):
            if end:
                with suppress(BrokenPipeError):
                    end.close()

    def _kill(self) -> None:
        """Kill the supervisor and the part: the test has no container that would take the part
        along."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _errors(self) -> str:
        self._kill()
        return self.process.stderr.read().decode() if self.process.stderr else ""


def kind_of(report: NodeReport) -> str:
    """Return the kind of `report`; of a verb, the kind of its record."""
    match report:
        case VerbReport(verb):
            return verbs.record(verb)
        case QuotaReport(lifted):
            return "lift_quota" if lifted else "lower_quota"
    return report.what


def read(line: bytes) -> dict[str, Any]:
    """Return the kind, the time and the fields of the report in `line`."""
    stamped = reports.decode(line.decode())
    if stamped is None:  # what the harness writes itself
        plain = json.loads(line)
        return {**plain["report"], "now": plain["now"]}
    return {"now": stamped.now, **stamped.report.facts(), "what": kind_of(stamped.report)}


Make = Callable[..., Container]


def whats(reports: list[dict[str, Any]]) -> list[str]:
    """Their kinds; of what was applied to the network, `tc` and the words."""
    return ["tc " + " ".join(r["words"]) if "words" in r else r["what"] for r in reports]


def done(reports: list[dict[str, Any]]) -> list[str]:
    """The same without the samples, which come when they come."""
    return [what for what in whats(reports) if what != "traffic"]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def stopped(pid: int) -> bool:
    """Whether a signal has stopped the process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def await_stopped(pid: int, expected: bool = True) -> None:
    """Wait until the process has followed a signal: the kernel stops it only when it runs next."""
    until = time.monotonic() + 10
    while stopped(pid) != expected:
        assert time.monotonic() < until
        time.sleep(0.01)


# A part that leaves word of who it is, whenever it is born.
BORN = """
import os, sys, time
from pathlib import Path
name = Path(__file__).with_name(f"born-{sys.argv[1]}")
name.with_suffix(".part").write_text(str(os.getpid()))
name.with_suffix(".part").rename(name)
time.sleep(60)
"""


def born(container: Container, incarnation: int) -> int:
    """The pid of an incarnation, once it lives."""
    name = container.folder / f"born-{incarnation}"
    until = time.monotonic() + 10
    while not name.exists():
        assert time.monotonic() < until, f"incarnation {incarnation} was never born"
        time.sleep(0.01)
    return int(name.read_text())
