"""How a run in containers comes up: in waves, and each node has its time from its own start."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.core.server.parameter_server import GATHERING
from emulator.core.survivors import Survivors
from emulator.core.wire.messages import Hello
from emulator.errors import DeploymentError
from emulator.machine.host import Load
from emulator.node.orders import BEGINS, AnyOrder, LetBegin, PartOrders, PartSettings
from emulator.node.part.server_chores import HELLOS, ConductorsHello, Roll
from emulator.runs.folder import create
from emulator.runtimes.docker import start_waves
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.runtimes.docker.container_runtime import DockerRuntime
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.start_waves import Gathering
from emulator.scenario import loads
from emulator.world.roles import CONDUCTOR
from tests.fakes.core.server_world import World as ServerWorld
from tests.runtimes.docker.configs.pair_configs import configs
from tests.runtimes.docker.engine.engine_answers import unlike
from tests.runtimes.docker.engine.made_up_events import engine
from tests.runtimes.docker.engine.made_up_play import Onlooker, Wires


def fleet(count: int) -> list[str]:
    return [f"home-{number}" for number in range(count)]


# -- waves -----------------------------------------------------------------------------------------


def test_no_more_boot_at_once_than_the_cores_carry() -> None:
    made = Gathering([*fleet(6), "evaluator"], cores=1, beside=["evaluator"])
    assert list(made.admitted()) == ["home-0", "home-1", "home-2", "home-3"]
    assert list(made.admitted()) == []
    made.started("home-1", 5.0)
    assert list(made.admitted()) == []
    made.greeted("home-1")
    assert list(made.admitted()) == ["home-4"]
    made.greeted("home-0")
    assert list(made.admitted()) == ["home-5", "evaluator"]  # it takes what the others leave


def test_on_a_part_of_a_core_they_boot_one_by_one() -> None:
    made = Gathering(fleet(3), cores=0.1)
    assert list(made.admitted()) == ["home-0"]
    made.greeted("home-0")
    assert list(made.admitted()) == ["home-1"]


def test_what_the_view_shows() -> None:
    made = Gathering(fleet(2), cores=2)
    list(made.admitted())
    made.started("home-0", 1.0)
    made.greeted("home-0")
    assert made.words() == "containers: 1 of 2 started, 1 said hello"
    made.started("home-1", 2.0)
    assert made.words() == "waiting for 1 of 2 nodes to say hello"
    assert made.take_news() == ["home-0"] and made.take_news() == [] and not made.complete
    made.greeted("home-1")
    assert made.take_news() == ["home-1"] and made.complete


# -- patience --------------------------------------------------------------------------------------


def test_each_has_its_time_from_its_own_start() -> None:
    made = Gathering(["early", "far", "late", "evaluator"], cores=2, beside=["evaluator"])
    made.started("early", 0.0)
    made.greeted("early")
    made.started("far", 90.0)
    made.started("late", 150.0)
    made.started("evaluator", 151.0)
    assert made.late(90.0 + GATHERING) == ""
    assert made.late(91.0 + GATHERING) == (
        "no hello from far in 121 s, late in 61 s, evaluator in 60 s: each node has 120 s from its "
        "container's start"
    )


def test_many_that_are_late_are_counted() -> None:
    made = Gathering(fleet(100), cores=2)
    for number, name in enumerate(fleet(100)):
        made.started(name, float(-number))
    result = made.late(GATHERING)
    assert result.startswith("no hello from home-99 in 219 s, home-98 in 218 s, ")
    assert "home-92 in 212 s and 92 more: " in result


def test_where_somebody_conducts_the_server_does_not_give_up() -> None:
    assert ServerWorld(gathering=None).server.deadline() is None
    assert ServerWorld().server.deadline() == 100.0 + GATHERING


def test_the_server_tells_who_has_said_hello(tmp_path: Path) -> None:
    world, path = ServerWorld(), tmp_path / HELLOS
    roll = Roll(world.server, path)
    roll.tick(100.0)
    assert not path.exists()
    for name in ("b", "a", "a"):
        world.server.receive(Hello(name, 0), 101.0)
        roll.tick(101.0)
    world.begin()
    roll.tick(105.0)
    roll.tick(106.0)
    result = [json.loads(line)["node"] for line in path.read_text().splitlines()]
    assert result == ["b", "a", "c", "evaluator"]
    assert roll.deadline() is None


def test_the_server_hears_its_conductor_through_its_supervisor() -> None:
    source, sink = os.pipe()
    world = ServerWorld(conducted=True)
    hello = ConductorsHello(world.server, PartOrders(source))
    assert hello.deadline() == 0.0 and hello.messages(50.0) == ()
    assert hello.deadline() == 50.0 + hello.LOOK
    settings = PartSettings()
    with os.fdopen(sink, "wb", buffering=0) as part:
        settings.booted(part)
        settings.change(BEGINS, {})
        assert hello.messages(50.0 + hello.LOOK / 2) == ()
        (said,) = hello.messages(51.0)
        assert (said.node, said.incarnation) == (CONDUCTOR, 0)
    os.close(source)
    assert hello.deadline() is None and hello.messages(52.0) == ()
    assert ConductorsHello(ServerWorld().server, PartOrders(source)).deadline() is None


# -- a run -----------------------------------------------------------------------------------------

SCENARIO = """
name: wave
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {time: 1min}
devices: [{name: home, count: 9}]
"""


class Engine:
    """Gives each device its quota in three looks."""

    def __init__(self, limited: list[str]) -> None:
        self._limited, self._waiting = limited, list[str]()

    def limit(self, node: str) -> None:
        self._waiting += [node] * 3

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    def tick(self, now: float) -> list[Any]:
        if self._waiting and (node := self._waiting.pop()) not in self._waiting:
            self._limited.append(node)
        return []


class Fleet:
    """Containers that say hello a moment after their start, but for the `mute` one.

    The engine answers that the container `slow` has started only once `answered` is set.
    """

    def __init__(self, path: Path, mute: str = "", slow: str = "") -> None:
        self.folder = create("wave", path)
        self.folder.server.mkdir()
        self.mute, self.slow, self.answered = mute, slow, threading.Event()
        self.booting: set[str] = set()
        self.most = 0
        self.greeted: list[str] = []
        self._lock = threading.Lock()
        client = engine()
        client.info = lambda: {"NCPU": 1}
        client.networks = client.containers = SimpleNamespace(create=self.create)
        made = Prepared(loads(SCENARIO), self.folder, configs(text=SCENARIO), "image", path)
        self.wires = Wires()
        self.limited: list[str] = []
        """Devices whose quota holds, in the order of the calls."""
        self.let_begin: list[int] = []
        """How many quotas held each time that the server was let begin."""
        self.wires.tell = self.tell  # type: ignore[method-assign]
        wires: Any = self.wires
        self.runtime = DockerRuntime(
            Hosts.here(client), self.folder, made, Onlooker(), Load(), wires
        )
        own: Any = Engine(self.limited)
        self.runtime._engine = own

    def tell(self, node: str, order: AnyOrder) -> bool:
        assert node == "server" and isinstance(order, LetBegin)
        self.let_begin.append(len(self.limited))
        self._write("run.jsonl", at=0.0, what="start", devices=9, zero=time.monotonic())
        return True

    def create(self, **options: Any) -> Any:
        node = options.get("hostname", "")
        net = f"emulate-{self.folder.run}-wan"
        address = {
            "NetworkSettings": {"Networks": {net: {"IPAddress": ""}}},
            "IPAM": {"Config": [{"Subnet": "10.9.0.0/16"}]},
        }
        start = (lambda: None) if node in ("", "server") else (lambda: self.start(node))
        return SimpleNamespace(id="1", attrs=address, reload=lambda: None, start=start)

    def start(self, node: str) -> None:
        with self._lock:
            self.booting.add(node)
            self.most = max(self.most, len(self.booting))
        if node != self.mute:
            threading.Timer(0.1, self.greet, (node,)).start()
        if node == self.slow:
            assert self.answered.wait(10.0)

    def greet(self, node: str) -> None:
        with self._lock:
            self.booting.discard(node)
            self.greeted.append(node)
            self._write(HELLOS, node=node)

    def _write(self, name: str, **record: Any) -> None:
        with (self.folder.server / name).open("a") as file:
            file.write(json.dumps(record) + "\n")

    def deploy(self) -> None:
        try:
            self.runtime.deploy(loads(SCENARIO), Survivors(9, []))
        finally:
            self.runtime._node_logs.close()


def test_the_engine_of_a_fleet_answers_as_the_engine_does(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    try:
        assert unlike(fleet.create(hostname="home-0"), "id", "attrs") == []
    finally:
        fleet.runtime._node_logs.close()


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What nodes are told is of no interest here."""
    monkeypatch.setattr(Prepared, "write_nodes", lambda *anything: None)
    yield


def test_containers_start_in_waves(tmp_path: Path, secrets: None) -> None:
    made = Fleet(tmp_path)
    made.deploy()
    assert 1 < made.most <= 4 + 1  # and the evaluator
    assert made.greeted.index("evaluator") > 4
    assert made.wires.heard == {"server", *made.greeted}


def test_the_run_begins_once_the_quotas_of_all_devices_hold(tmp_path: Path, secrets: None) -> None:
    made = Fleet(tmp_path)
    made.deploy()
    assert sorted(made.limited) == fleet(9)  # and none of the evaluator
    assert made.let_begin == [9]


@pytest.mark.slow
def test_the_timeline_waits_for_hellos_and_for_no_answer_of_the_engine(
    tmp_path: Path, secrets: None
) -> None:
    made = Fleet(tmp_path, slow="home-3")
    made.deploy()
    assert made.wires.heard == {"server", *made.greeted} - {"home-3"}
    made.answered.set()
    assert made.runtime.wait(made.runtime._log.now + 0.5)
    assert made.wires.heard == {"server", *made.greeted}


@pytest.mark.slow
def test_who_does_not_say_hello_is_named(
    tmp_path: Path, secrets: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_waves, "GATHERING", 2.0)
    made = Fleet(tmp_path, mute="home-4")
    words = (
        r"the run did not begin: no hello from home-4 in 2 s: each node has 2 s from its container"
    )
    with pytest.raises(DeploymentError, match=words):
        made.deploy()
    assert len(made.greeted) == 9
