"""A container's first process, with a part that only sleeps and a network that only takes notes.

Here it runs as a plain child of the test, told and heard over its real pipes.
"""

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from emulator.core.heartbeat import Heartbeat
from emulator.core.plan import Plan, WorkerPlan
from emulator.node import config, supervisor
from emulator.node.config import Network, NodeConfig, ServerAddress, ServerRole, WorkerRole
from emulator.node.supervisor import Supervisor
from emulator.shaping.command import Command
from emulator.transport.secrets import Guests, Token

HARNESS = """
import os, signal, subprocess, sys
from pathlib import Path
from emulator.errors import DeploymentError
from emulator.node import config, supervisor

folder = Path(sys.argv[1])
node = config.read(folder / "node.json")
config.read = lambda: node
supervisor.INTERFACE = folder / "eth0"
popen = subprocess.Popen

def apply(commands):
    words = [str(command) for command in commands]
    if "refuse" in words:
        raise DeploymentError("tc refused: refuse")
    supervisor.say("applied", words=words)

def part(command, **options):
    assert (options.pop("user"), options.pop("group"), options.pop("extra_groups")) == (9, 9, [])
    assert command[1:3] == ["-m", "emulator.node.role"]
    started = popen([sys.executable, str(folder / "part.py"), command[3]], **options)
    if (folder / "terminated").exists():
        os.kill(os.getpid(), signal.SIGTERM)
    return started

supervisor.apply = apply
supervisor.subprocess.Popen = part
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


class Container:
    """A supervisor at work, seen from outside."""

    def __init__(self, folder: Path, part: str, role: Any, network: Network) -> None:
        self.folder = folder
        config.write(NodeConfig("far", 9, role, network), folder / "node.json")
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
        self.write(json.dumps({"verb": verb, **facts}) + "\n")

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
            heard.append(json.loads(line))
            if heard[-1]["what"] == what:
                return heard
        raise AssertionError(f"ended without {what}: {heard} {self._errors()}")

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """How it ended, and what it said before."""
        assert self.process.stdout
        heard = [json.loads(line) for line in self.process.stdout]
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
        """It and its part: no container goes with it here."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _errors(self) -> str:
        self._kill()
        return self.process.stderr.read().decode() if self.process.stderr else ""


Make = Callable[..., Container]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Container] = []

    def container(part: str = SLEEPS, role: Any = WORKER, network: Network = NETWORK) -> Container:
        made.append(Container(tmp_path, part, role, network))
        return made[-1]

    yield container
    for item in made:
        item.close()


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


# -- from birth to death ---------------------------------------------------------------------------


def test_the_link_is_shaped_before_anything_runs_on_it(make: Make) -> None:
    container = make()
    reports = container.hear_all("traffic")
    assert whats(reports) == ["tc shape", "ready", "traffic"]
    assert (reports[-1]["rx"], reports[-1]["tx"]) == (1200, 1200)
    assert reports[0]["now"] <= reports[1]["now"] <= time.monotonic()


def test_a_kernel_that_refuses_is_told_of(make: Make) -> None:
    container = make(network=Network(shape=[Command.of("refuse")]))
    code, heard = container.end()
    assert code == 1
    assert [(r["what"], r["detail"]) for r in heard] == [("failed", "far: tc refused: refuse")]


def test_it_goes_when_its_part_is_done(make: Make) -> None:
    code, heard = make(part="").end()
    assert code == 0
    assert "exit" not in whats(heard)
    assert whats(heard)[-1] == "traffic"


def test_it_goes_when_nobody_conducts_it_any_more(make: Make) -> None:
    container = make(part=BORN)
    pid = born(container, 0)
    container.hang_up()
    code, _ = container.end()
    assert code == 0
    assert not alive(pid)


@pytest.mark.parametrize(
    "how, heard_as", [("order", "SIGTERM"), ("signal", "SIGTERM"), ("stopped", "SIGUSR1")]
)
def test_it_lets_its_part_end_by_itself(make: Make, how: str, heard_as: str) -> None:
    """And says by the signal whether the run was canceled or stopped."""
    last_words = """
import signal, sys, time
from pathlib import Path
def leave(number, frame):
    Path(__file__).with_name("model").write_text(signal.Signals(number).name)
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGUSR1, leave)
word = Path(__file__).with_name("born-0")
word.with_suffix(".part").write_text("1")
word.with_suffix(".part").rename(word)
time.sleep(60)
"""
    container = make(part=last_words)
    born(container, 0)
    container.hear("ready")
    if how == "order":
        container.tell("stop", reason="canceled")
    elif how == "stopped":
        container.tell("stop", reason="stopped")
    else:
        container.process.terminate()
    code, heard = container.end()
    assert code == 0
    assert "exit" not in whats(heard)
    assert (container.folder / "model").read_text() == heard_as


@pytest.mark.parametrize("how", ["order", "signal"])
@pytest.mark.parametrize("earlier", [(), ("sever",)])
def test_a_paused_part_is_told_to_end_as_any_other(
    make: Make, how: str, earlier: tuple[str, ...]
) -> None:
    container = make(part=BORN)
    container.hear("ready")
    pid = born(container, 0)
    for verb in (*earlier, "pause"):
        container.tell(verb, fault=verb)
    container.hear("pause")
    if how == "order":
        container.tell("stop", reason="canceled")
    else:
        container.process.terminate()
    code, heard = container.end()
    assert (code, "exit" in whats(heard), alive(pid)) == (0, False, False)


@pytest.mark.parametrize("earlier", [(), ("pause",)])
def test_a_part_that_boots_as_the_container_is_told_to_end_ends(
    make: Make, earlier: tuple[str, ...]
) -> None:
    """The signal comes when the process lives, and the supervisor does not know it yet."""
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("kill", *earlier):
        container.tell(verb, fault=verb)
        container.hear(verb)
    (container.folder / "terminated").touch()
    container.tell("start", fault="crash")
    code, heard = container.end()
    assert (code, "exit" in whats(heard)) == (0, False)


def test_a_container_told_to_end_as_drawn_faults_end_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    container = supervisor.Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
    container.selector = selectors.DefaultSelector()
    ended: list[str] = []

    def obey(order: dict[str, Any]) -> None:
        ended.append(order["verb"])
        container._close()

    monkeypatch.setattr(container, "obey", obey)
    monkeypatch.setattr(container, "_sample", lambda: None)
    container.later = [(0.0, {"verb": "mend"}), (0.0, {"verb": "resume"})]
    container._watch()
    assert ended == ["mend"]


def test_a_device_whose_part_dies_stays_for_the_rest_of_the_run(make: Make) -> None:
    container = make(part="import sys; sys.exit(3)")
    assert container.hear("exit")["code"] == 3
    container.tell("stop")
    assert container.end()[0] == 0


def test_a_server_whose_part_dies_does_not(make: Make) -> None:
    container = make(part="import os; os.kill(os.getpid(), 9)", role=SERVER)
    assert container.hear("exit")["code"] == -9
    container.end()


@pytest.mark.parametrize("verb", [None, "sever"])
def test_a_node_whose_interface_is_taken_away_says_so_and_ends(
    make: Make, tmp_path: Path, verb: str | None
) -> None:
    container = make(network=Network(sever=[Command.of("refuse")]))
    container.hear("traffic")
    shutil.rmtree(tmp_path / "eth0")
    if verb:
        container.tell(verb)
    code, heard = container.end()
    assert container.process.stderr
    said = container.process.stderr.read().decode()
    assert (code, "failed" in whats(heard)) == (1, False)
    assert said.startswith("the network interface eth0 is gone") and said.count("\n") == 1


# -- verbs -----------------------------------------------------------------------------------------


def test_a_killed_device_goes_silent_first_and_comes_back_as_another(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    first = born(container, 0)
    container.tell("kill", fault="crash", planned=15.0)
    reports = container.hear_all("kill")
    assert done(reports) == ["tc sever", "kill"]
    assert (reports[-1]["fault"], reports[-1]["planned"]) == ("crash", 15.0)
    assert not alive(first)
    container.tell("start", fault="crash", planned=25.0)
    reports = container.hear_all("boot")
    assert done(reports) == ["tc mend", "boot"]
    assert born(container, 1) != first


def test_faults_that_overlap_are_one_and_end_with_the_last(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("start", "kill", "kill", "start", "sever", "start"):
        container.tell(verb, fault="crash")
    heard = done(container.hear_all("boot"))
    assert heard == ["tc sever", "kill", "tc sever", "sever", "boot"]  # still cut off
    born(container, 1)
    assert not (container.folder / "born-2").exists()


def test_a_severed_device_lives_on(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    pid = born(container, 0)
    container.tell("sever", fault="partition", planned=1.0)
    assert done(container.hear_all("sever")) == ["tc sever", "sever"]
    assert alive(pid)
    container.tell("mend", fault="partition", planned=2.0)
    assert done(container.hear_all("mend")) == ["tc mend", "mend"]
    assert not stopped(pid)  # it stood still only while it was cut off


def test_a_device_that_boots_while_it_is_cut_off_is_still_cut_off(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("sever", "kill", "start"):
        container.tell(verb)
    assert done(container.hear_all("boot")) == ["tc sever", "sever", "tc sever", "kill", "boot"]
    container.tell("mend")
    assert done(container.hear_all("mend")) == ["tc mend", "mend"]


def test_a_partition_that_ends_while_the_power_is_off_leaves_it_off(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("sever", "kill", "mend"):
        container.tell(verb)
    heard = done(container.hear_all("mend"))
    assert heard == ["tc sever", "sever", "tc sever", "kill", "mend"]
    container.tell("start")
    assert done(container.hear_all("boot")) == ["tc mend", "boot"]


@pytest.mark.parametrize("verb", ["sever", "mend"])
def test_a_paused_device_stands_still_until_it_is_resumed(make: Make, verb: str) -> None:
    """A cut, too, lets the part stand still, and must not wake a part that is paused."""
    container = make(part=BORN)
    container.hear("ready")
    pid = born(container, 0)
    assert not stopped(pid)
    container.tell("sever", fault="partition")
    container.tell("pause", fault="pause", planned=1.0)
    report = container.hear_all("pause")[-1]
    assert (report["fault"], report["begins"], report["planned"]) == ("pause", True, 1.0)
    await_stopped(pid)
    container.tell("mend", fault="partition")
    container.hear("mend")
    if verb == "sever":
        container.tell("sever", fault="partition")
        assert done(container.hear_all("sever")) == ["tc sever", "sever"]
    assert stopped(pid)
    container.tell("resume", fault="pause", planned=2.0)
    assert not container.hear("resume")["begins"]
    await_stopped(pid, False)


def test_a_device_that_boots_while_it_is_paused_is_still_paused(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    first = born(container, 0)
    for verb in ("pause", "kill", "start"):
        container.tell(verb)
    assert done(container.hear_all("boot"))[-2:] == ["tc mend", "boot"]
    assert not alive(first)
    container.hear("traffic")
    assert not (container.folder / "born-1").exists()
    container.tell("resume")
    assert alive(born(container, 1))


def test_a_device_that_is_killed_while_it_is_paused_boots_awake_after_it(make: Make) -> None:
    container = make(part=BORN)
    container.hear("ready")
    born(container, 0)
    for verb in ("pause", "kill", "resume", "start"):
        container.tell(verb)
    container.hear("boot")
    assert not stopped(born(container, 1))


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_an_order_may_come_in_pieces(make: Make, cut: int) -> None:
    container = make()
    container.hear("ready")
    text = '{"verb": "sever", "fault": "partition"}\n{"verb": "mend", "fault": "partition"}\n'
    container.write(text[:cut])
    time.sleep(0.05)
    container.write(text[cut:])
    container.hear("sever")
    container.hear("mend")


def test_a_device_may_draw_its_own_faults(make: Make) -> None:
    draws = f"""
import json, os, signal, sys
from emulator.node.supervisor import CONTROL
if sys.argv[1] == "0":
    report = {{"fault": "crash", "begin": "kill", "end": "start", "lasts": 0.3}}
    os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\\n")
    signal.pause()
{BORN}
"""
    container = make(part=draws)
    down, up = container.hear("kill"), container.hear("boot")
    assert down["fault"] == up["fault"] == "crash"
    assert down["planned"] is None
    assert 0.2 < up["now"] - down["now"] < 0.8
    born(container, 1)


def test_so_may_it_draw_a_pause_and_goes_on_by_itself(make: Make) -> None:
    draws = f"""
import json, os
from emulator.node.supervisor import CONTROL
report = {{"fault": "pause", "begin": "pause", "end": "resume", "lasts": 0.3}}
os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\\n")
{BORN}
"""
    container = make(part=draws)
    still, on = container.hear("pause"), container.hear("resume")
    assert (still["begins"], on["begins"], still["planned"]) == (True, False, None)
    assert 0.2 < on["now"] - still["now"] < 0.8
    await_stopped(born(container, 0), False)


def test_a_fault_that_a_device_draws_for_good_is_told_as_such(make: Make) -> None:
    """The verb alone does not say whether anything will undo it."""
    draws = f"""
import json, os, signal
from emulator.node.supervisor import CONTROL
report = {{"fault": "partition", "begin": "sever", "end": "mend", "lasts": None}}
os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\\n")
{BORN}
"""
    container = make(part=draws)
    assert done(container.hear_all("lost"))[-3:] == ["tc sever", "sever", "lost"]


def test_sigterm_between_two_ends_that_are_due_drops_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    supervisor = Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
    ends = [{"verb": "mend"}, {"verb": "resume"}]
    supervisor.later = [(1.0, end) for end in ends]
    obeyed = []

    def obey(order: dict[str, Any]) -> None:
        obeyed.append(order)
        supervisor._close()

    monkeypatch.setattr(supervisor, "obey", obey)
    supervisor._end_due(2.0)
    assert (obeyed, supervisor.later) == (ends[:1], [])


def test_an_end_that_is_not_due_stays_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
    supervisor.later = [(3.0, {"verb": "mend"}), (1.0, {"verb": "resume"})]
    obeyed: list[dict[str, Any]] = []
    monkeypatch.setattr(supervisor, "obey", obeyed.append)
    supervisor._end_due(2.0)
    assert (obeyed, supervisor.later) == ([{"verb": "resume"}], [(3.0, {"verb": "mend"})])
