"""The fork server of a run as the conductor sees it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.errors import DeploymentError
from emulator.node.forking.fork_messages import Fork, ForkedLine, RefusedLine, encode
from emulator.node.orders import Forked
from emulator.node.reports import ForkReport
from emulator.runs.folder import create
from emulator.runtimes.docker.configs.spec import FORK_SERVER
from emulator.runtimes.docker.engine.hosts import EngineHost
from emulator.runtimes.docker.engine.stdio import OutputEnded, Said
from emulator.runtimes.docker.forks import SHARED, Forks, workers_words
from emulator.runtimes.docker.run_logs import NodeLogs
from tests.fakes.small_scenario import small


class Wires:
    """The containers' standard input."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.shut_down: list[str] = []
        self.limits: list[tuple[str, int]] = []

    def tell(self, node: str, order: Any) -> bool:
        self.told.append((node, order))
        return True

    def limit(self, node: str, size: int) -> None:
        self.limits.append((node, size))

    def shut(self, node: str) -> None:
        self.shut_down.append(node)


@pytest.fixture
def wires() -> Wires:
    return Wires()


HERE: Any = EngineHost(None)  # type: ignore[arg-type]


@pytest.fixture
def logs(tmp_path: Path) -> Any:
    logs = NodeLogs(create("pair", tmp_path), ["far", FORK_SERVER])
    yield logs
    logs.close()


@pytest.fixture
def forks(wires: Wires, logs: NodeLogs) -> Forks:
    launcher: Any = SimpleNamespace(first_process=lambda node: (4711, "ab"))
    exits: Any = SimpleNamespace(
        said=lambda *words: None,
        container=lambda node: SimpleNamespace(reason="somebody ended its container"),
    )
    taken: Any = (launcher, wires, exits, logs)
    return Forks(*taken, wires.limit, {"far": 256 << 20}, HERE)


def said(line: Any) -> Said:
    return Said(FORK_SERVER, encode(line).decode())


def test_a_request_names_the_process_and_the_container(forks: Forks, wires: Wires) -> None:
    forks.want("far", ForkReport(5, 6, 0))
    assert wires.told == [(FORK_SERVER, Fork("far", 4711, "ab", 5, 6, 0))]


def test_a_container_that_is_gone_is_not_asked_for(wires: Wires, logs: NodeLogs) -> None:
    launcher: Any = SimpleNamespace(first_process=lambda node: None)
    made: Any = (launcher, wires, None, logs, wires.limit, {}, HERE)
    Forks(*made).want("far", ForkReport(5, 6, 0))
    assert not wires.told


def test_the_supervisor_hears_of_its_worker(forks: Forks, wires: Wires) -> None:
    forks.hear(said(ForkedLine("far", 8)))
    assert wires.told == [("far", Forked(8))]


def test_the_limit_of_a_container_is_lower_while_its_worker_is_a_fork(
    forks: Forks, wires: Wires
) -> None:
    forks.down("far")
    assert not wires.limits
    forks.hear(said(ForkedLine("far", 8)))
    forks.down("far")
    forks.down("far")
    assert wires.limits == [("far", (256 << 20) - SHARED), ("far", 256 << 20)]


def test_a_refused_fork_is_executed_and_the_devices_log_says_why(
    forks: Forks, wires: Wires, logs: NodeLogs
) -> None:
    forks.hear(said(RefusedLine("far", "Operation not permitted")))
    assert wires.told == [("far", Forked(None))]
    assert "executed, as it cannot be forked: Operation not permitted" in logs.ending("far")


def test_the_end_of_the_fork_server_ends_a_run_that_has_not_begun(forks: Forks) -> None:
    forks.hear(Said(FORK_SERVER, "libtensorflow_cc.so.2: not found", error=True))
    with pytest.raises(DeploymentError, match="ended unasked: somebody ended its cont") as raised:
        forks.hear(OutputEnded(FORK_SERVER))
    assert "libtensorflow_cc.so.2: not found" in str(raised.value)


def test_a_fork_server_that_was_told_to_end_may(forks: Forks, wires: Wires) -> None:
    forks.end()
    assert wires.shut_down == [FORK_SERVER]
    forks.hear(OutputEnded(FORK_SERVER))


def test_the_manifest_counts_each_worker_that_is_executed() -> None:
    fleet = small(
        overrides=(
            "devices=[{name: large, count: 3}, {name: small, count: 2, profile: {memory: 192MiB}}]",
        )
    )
    assert workers_words(fleet, "") == "2 executed: small memory limits"
    refused = {"large-0": "no room", "large-1": "no room"}
    assert workers_words(fleet, "", refused) == "4 executed: small memory limits, no room"
    assert workers_words(fleet, "fewer than 4 devices") == "executed: fewer than 4 devices"
    whole = small(overrides=("devices=[{name: large, count: 5}]",))
    assert workers_words(whole, "") == "forked"
    assert workers_words(whole, "", {"large-0": "no room"}) == "1 executed: no room"
