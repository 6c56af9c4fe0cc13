"""The box of a run as the conductor sees it, with a made-up engine."""

from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import NotFound
from msgspec.json import encode
from msgspec.structs import replace

from emulator.errors import DeploymentError
from emulator.node.reports import LatenessLine
from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine.exits import Exit
from emulator.runtimes.docker.engine.hosts import EngineHost
from emulator.runtimes.docker.engine.stdio import OutputEnded, Said
from emulator.runtimes.docker.network.packet_box import PacketBox


class World:
    """The engine, the exits, the logs and the reports around a box."""

    def __init__(self) -> None:
        self.running: bool | None = True
        self.texts: list[str] = []
        self.late: list[Any] = []
        self.api = SimpleNamespace(inspect_container=self.inspect)
        this: Any = self
        self.reports: Any = SimpleNamespace(late=lambda line, now, host: self.late.append(line))
        self.box = PacketBox(EngineHost(this), "abc", this, this)

    def inspect(self, name: str) -> dict[str, Any]:
        assert name == "emulate-abc-packet_box"
        if self.running is None:
            raise NotFound(name)
        return {"State": {"Running": self.running}}

    def container(self, node: str) -> Exit:
        return Exit(137, "", "its container ended, killed by signal 9")

    def said(self, node: str, text: str) -> None:
        assert node == spec.BOX

    def write(self, node: str, text: str) -> None:
        self.texts.append(text)

    def ending(self, node: str) -> str:
        return f"devices/{node}.log ends with: {self.texts}"

    def hear(self, text: str) -> None:
        self.box.hear(Said(spec.BOX, text), self.reports)


@pytest.fixture
def world() -> World:
    return World()


def test_it_is_ready_when_it_says_so(world: World) -> None:
    world.box.check_start()
    world.hear('{"box": "ready"}')
    assert world.box.ready
    assert (world.texts, world.late) == ([], [])


def test_it_has_a_while_to_be_ready(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "BOX_READY", -1.0)
    late = World().box
    with pytest.raises(DeploymentError, match="not ready"):
        late.check_start()
    late.ready = True
    late.check_start()


def test_its_lateness_is_reported_and_all_else_is_logged(world: World) -> None:
    late = LatenessLine(7.5, 40, 1e-4, 2e-3, max=0.01, dropped=3, cpu=0.02)
    world.hear(encode(late).decode())
    others = [
        *("Traceback", '{"box": "gone", "link": "far"}', "7", "[" * 100_000),
        *('{"box": "lateness", "time": 7.5}', '{"box": ["ready"]}', '{"box": "unknown"}'),
        encode(replace(late, packets=-1)).decode(),
    ]
    for text in (*others, " "):
        world.hear(text)
    assert world.late == [late] and not world.box.ready
    assert world.texts == others


def test_its_end_is_the_end_of_the_run(world: World) -> None:
    world.hear("MemoryError")
    with pytest.raises(DeploymentError, match=r"links with it: .* signal 9; .*MemoryError"):
        world.box.hear(OutputEnded(spec.BOX), world.reports)


@pytest.mark.parametrize("running", [False, None])
def test_a_dead_box_is_blamed_for_what_fails_without_it(world: World, running: bool | None) -> None:
    with pytest.raises(DeploymentError, match="server ended"), world.box.blamed():
        raise DeploymentError("server ended unasked")
    world.running = running
    with pytest.raises(DeploymentError, match="signal 9"), world.box.blamed():
        raise DeploymentError("server ended unasked")
    with world.box.blamed():
        pass
