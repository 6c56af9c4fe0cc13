"""A run of two devices on an engine that only says how containers ended."""

import json
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from emulator.core.survivors import Survivors
from emulator.log.records import Record
from emulator.machine.host import Load
from emulator.node.orders import AnyOrder, StopPart
from emulator.runs.folder import RunFolder
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.runtimes.docker.container_runtime import DockerRuntime
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.engine.stdio import OutputEnded, Said
from emulator.scenario import Timed, loads
from tests.fakes.plain_records import PlainRecord, plain
from tests.runtimes.docker.configs.pair_configs import configs
from tests.runtimes.docker.engine.made_up_events import engine

SCENARIO = """
name: pair
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {time: 1min}
devices: [{name: near}, {name: far}]
"""


class Onlooker:
    def __init__(self) -> None:
        self.records: list[PlainRecord] = []

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Record) -> None:
        self.records.append(plain(record))

    def beat(self, now: float) -> None: ...


class Wires:
    """The containers' lines, on which the test speaks."""

    def __init__(self) -> None:
        self.news: list[list[Said | OutputEnded]] = []
        self.orders: list[str] = []
        self.told: list[str] = []
        """The receivers of the orders."""
        self.heard: set[str] = set()

    def open(self, *anything: object) -> None: ...

    def listen(self, node: str) -> None:
        self.heard.add(node)

    def close(self) -> None: ...

    def tell(self, node: str, order: AnyOrder) -> bool:
        self.told.append(node)
        self.orders.append("stop" if isinstance(order, StopPart) else getattr(order, "verb", ""))
        return True

    def read(self, timeout: float) -> list[Said | OutputEnded]:
        time.sleep(0.001)
        now = self.news and {item.node for item in self.news[0]} <= self.heard
        return self.news.pop(0) if now else []


class Played:
    """A run on an engine that only says how containers ended."""

    def __init__(self, folder: RunFolder, *events: dict[str, Any], text: str = SCENARIO) -> None:
        self.folder, self.view, self.wires = folder, Onlooker(), Wires()
        self.load = Load()
        folder.server.mkdir()
        scenario = loads(text)
        self.client = client = engine(*events)
        client.info = lambda: {"NCPU": 2}
        address = {
            "NetworkSettings": {"Networks": {f"emulate-{folder.run}-wan": {"IPAddress": ""}}},
            "IPAM": {"Config": [{"Subnet": "10.9.1.0/24"}]},
        }
        container = SimpleNamespace(id="1", attrs=address, start=lambda: 0, reload=lambda: 0)
        client.networks = client.containers = SimpleNamespace(create=lambda *a, **b: container)
        client.volumes = client.networks
        self.world = world = Prepared(scenario, folder, configs(text=text), "image", folder.path)
        wires: Any = self.wires
        self.runtime = DockerRuntime(Hosts.here(client), folder, world, self.view, self.load, wires)
        self.scenario, self.survivors = scenario, Survivors(2, [])

    def close(self) -> None:
        self.runtime._node_logs.close()
        self.load.end()

    def write(self, at: float, what: str, **facts: Any) -> None:
        with (self.folder.server / "run.jsonl").open("a") as log:
            log.write(json.dumps({"at": at, "what": what, **facts}) + "\n")

    def begin(self) -> None:
        self.write(0.0, "start", devices=2, zero=time.monotonic())
        self.runtime.deploy(self.scenario, self.survivors)

    def hear(self, *news: Said | OutputEnded) -> None:
        self.wires.news.append(list(news))
        self.runtime.wait(until=self.runtime._log.now + 0.01)
