"""A container's first process, with a part that only sleeps and a network that only takes notes.

Here it runs as a plain child of the test, told and heard over its real pipes.
"""

import os
import resource
import selectors
import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.core.plan import Durability
from emulator.node import supervisor
from emulator.node.config import EvaluatorRole, MeasuredLink, Network, NodeConfig
from emulator.node.orders import Do
from emulator.node.reports import LinkReport
from emulator.shaping.command import Command
from tests.fakes.node.supervised import BORN, NETWORK, SERVER, WORKER, Make, alive, born, whats

DURABLE = msgspec.structs.replace(
    SERVER, plan=msgspec.structs.replace(SERVER.plan, durability=Durability())
)
EVALUATOR = EvaluatorRole(WORKER.connection, 1)

# -- from birth to death ---------------------------------------------------------------------------


def test_the_link_is_shaped_before_anything_runs_on_it(make: Make) -> None:
    container = make()
    reports = container.hear_all("traffic")
    assert whats(reports) == ["tc shape", "ready", "traffic"]
    assert (reports[-1]["rx"], reports[-1]["tx"]) == (1200, 1200)
    assert reports[0]["now"] <= reports[1]["now"] <= time.monotonic()


@pytest.mark.slow
def test_a_kernel_that_refuses_is_told_of(make: Make) -> None:
    container = make(network=Network(shape=[Command.of("refuse")]))
    code, heard = container.end()
    assert code == 1
    assert [(r["what"], r["detail"]) for r in heard] == [("failed", "far: tc refused: refuse")]


def test_a_part_may_open_as_many_files_as_its_container_allows(make: Make) -> None:
    """Engines begin containers with as few as 1,024, and a server needs two for each device."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 64, hard))
    try:
        container = make(part=BORN)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    container.hear("ready")
    assert resource.prlimit(born(container, 0), resource.RLIMIT_NOFILE) == (hard, hard)


@pytest.mark.slow
def test_it_goes_when_its_part_is_done(make: Make) -> None:
    code, heard = make(part="").end()
    assert code == 0
    assert "exit" not in whats(heard)
    assert whats(heard)[-1] == "traffic"


@pytest.mark.slow
def test_it_goes_when_nobody_conducts_it_any_more(make: Make) -> None:
    container = make(part=BORN)
    pid = born(container, 0)
    container.hang_up()
    code, _ = container.end()
    assert code == 0
    assert not alive(pid)


@pytest.mark.slow
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


@pytest.mark.mostly_slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_part_that_cannot_be_forked_is_executed_and_so_are_its_later_boots(make: Make) -> None:
    container = make(part=BORN, forked=True)
    asked = container.hear("fork")
    assert asked["incarnation"] == 0 and len({asked["stdin"], asked["control"], 0, 1, 2}) == 5
    container.tell("forked", pid=None)
    born(container, 0)
    for verb in ("kill", "start"):
        container.tell(verb, fault="crash")
    born(container, 1)
    container.tell("stop")
    assert "fork" not in whats(container.end()[1])


@pytest.mark.slow
def test_a_container_told_to_end_before_its_part_is_forked_ends(make: Make) -> None:
    container = make(part=BORN, forked=True)
    container.hear("fork")
    container.tell("stop")
    assert container.end()[0] == 0


def test_a_container_told_to_end_as_drawn_faults_end_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    container = supervisor.Supervisor(NodeConfig("far", 9, WORKER, NETWORK))
    container.selector = selectors.DefaultSelector()
    ended: list[str] = []

    def obey(order: Do) -> None:
        ended.append(order.verb)
        container._close()

    monkeypatch.setattr(container, "obey", obey)
    monkeypatch.setattr(container, "_sample", lambda: None)
    container.later = [(0.0, Do("mend")), (0.0, Do("resume"))]
    container._watch()
    assert ended == ["mend"]


@pytest.mark.slow
def test_a_device_whose_part_dies_stays_for_the_rest_of_the_run(make: Make) -> None:
    container = make(part="import sys; sys.exit(3)")
    assert container.hear("exit")["code"] == 3
    container.tell("stop")
    assert container.end()[0] == 0


@pytest.mark.slow
def test_a_server_whose_part_dies_does_not(make: Make) -> None:
    container = make(part="import os; os.kill(os.getpid(), 9)", role=SERVER)
    assert container.hear("exit")["code"] == -9
    container.end()


@pytest.mark.slow
@pytest.mark.parametrize("role", [DURABLE, EVALUATOR])
def test_a_part_that_can_come_back_is_started_again_until_it_dies_too_often(
    make: Make, role: Any
) -> None:
    container = make(part="import os; os.kill(os.getpid(), 9)", role=role)
    code, heard = container.end()
    returns = [report["returns"] for report in heard if report["what"] == "exit"]
    assert (code, returns) == (0, [True] * 4 + [False])
    assert container.process.stderr
    said = container.process.stderr.read().decode()
    assert "it died 5 times within" in said and "is not started again" in said


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_measured_link_is_reported_at_the_end(make: Make) -> None:
    """Nobody answers its echoes here."""
    measured = MeasuredLink({"up": {"rate": 8e6, "delay": 0.02}, "down": {}})
    address = msgspec.structs.replace(WORKER.connection, address="tcp://127.0.0.1:1")
    role = msgspec.structs.replace(WORKER, connection=address)
    network = msgspec.structs.replace(NETWORK, measured=measured)
    _, heard = make(part="", role=role, network=network).end()
    (report,) = [report for report in heard if report["what"] == "link"]
    assert report.pop("now") <= time.monotonic()
    assert 0 < report["lasts"] < 10
    asked = LinkReport("up", report["lasts"], requested_rate=8e6, requested_delay=0.02)
    assert report == {"what": "link", **asked.facts()}
