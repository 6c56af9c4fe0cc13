"""Every key that names a file, and files for all of them."""

from typing import Any

LINE = "seconds,rate\n0,1mbit\n5,2mbit\n10,end\n"
OWN = """
from dataclasses import dataclass
from emulator.aggregation import Mean
from emulator.codecs import Dense
from emulator.world.faults.crash import Crash
from emulator.modulation import Constant
from emulator.optimizers import SGD
from emulator.schedules import Sequential
from emulator.synchronization import Asynchronous
class Codec(Dense): ...
class Modulation(Constant): ...
class Synchronization(Asynchronous): ...
class Optimizer(SGD): ...
class Aggregation(Mean): ...
class Schedule(Sequential): ...
class Fault(Crash): ...
@dataclass(frozen=True)
class Figure:
    name = caption = "mine"
    def draw(self, runs, ax): ...
"""
FILES = {
    "line.csv": LINE,
    "on.csv": "0,on\n10,off\n20,end\n",
    "net.graphml": '<graphml><graph edgedefault="undirected"><node id="x"/><node id="y"/>'
    '<edge source="x" target="y"/></graph></graphml>',
    "owners.txt": "a\nb\n" * 800,
    "table.csv": ",".join([*map(str, range(64)), "label"])
    + "".join(f"\n{'0.5,' * 64}{number % 10}" for number in range(20)),
    "own.py": OWN,
    "data.py": "import numpy as np\ndef load():\n"
    "    return np.zeros((20, 8, 8), np.float32), np.arange(20) % 10\n",
    "net.py": "def net(): ...\ndef loss(a, b): ...\n",
    "app/Dockerfile": "FROM scratch\n",
    "slow.yaml": "up: {rate: 1mbit, trace: line.csv}",
    "pi.yaml": "cpu: 20%",
    "nights.yaml": (
        "faults: [{kind: availability, trace: on.csv},"
        " {kind: degrade, every: {fixed: 9s}, lasts: {fixed: 1s}, link: ./slower.yaml}]"
    ),
    "slower.yaml": "up: {rate: 1kbit}",
    "net.yaml": "layers: [{name: a, kind: dense, parameters: 9, activations: 9, multiply_adds: 9}]",
}
BASE = {
    "name": "lab",
    "training": {"dataset": "digits", "model": "digits-mlp", "codec": "dense"},
    "stop": {"time": "100s"},
    "devices": [{"name": "a", "count": 2}],
}
AVAILABLE = {"faults": [{"kind": "availability", "nodes": "all"}]}
TABLE = {"virtual": {"step": "1s"}, "training": {"model": {"name": "n"}, "codec": "dense"}}
SIZED: dict[str, Any] = {"training": {"dataset": {"size": [8, 8], "label": "label"}}}
IMAGE = {"image": "a", "server": {"command": "serve"}, "device": {"command": "join"}}
BUILT = {"server": {"command": "serve"}, "device": {"command": "join"}}
KEYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Side.trace": ("devices[0].link.up.trace", "./line.csv", {}),
    "PlayedTrace.file": ("devices[0].link.down.trace.file", "line.csv", {}),
    "PlayedTrace.files": ("devices[0].link.up.trace.files", "./bw/*.csv", {}),
    "PlayedTrace.files of a folder": ("devices[0].link.up.trace", "{files: bw}", {}),
    "PlayedTrace.files in a list": ("devices[0].link.up.trace.files", "[line.csv, bw/1.csv]", {}),
    "BackgroundSide.trace": ("devices[0].background.up", "{law: trace, trace: ./line.csv}", {}),
    "AimedAvailability.trace": ("faults[0].trace", "./on.csv", AVAILABLE),
    "AimedAvailability.trace as a name": ("faults[0].trace", "on.csv", AVAILABLE),
    "RecurringAvailability.trace": ("devices[0].failures", "[./nights.yaml]", {}),
    "Group.failures": ("devices[0].failures", "[nights.yaml]", {}),
    "Group.link": ("devices[0].link", "./slow.yaml", {}),
    "Group.profile": ("devices[0].profile", "pi.yaml", {}),
    "ServerSection.link": ("server.link", "slower.yaml", {}),
    "AimedDegrade.link": (
        "faults[0].link",
        "./slower.yaml",
        {"faults": [{"kind": "degrade", "nodes": "all", "at": "1s"}]},
    ),
    "RecurringDegrade.link": ("devices[0].failures", "[./nights.yaml]", {}),
    "layer table.layers": ("training.model.layers", "./net.yaml", TABLE),
    "TrainingSection.dataset": ("training.dataset", "./data.py:load", {}),
    "OwnDataset.file": ("training.dataset.file", "table.csv", SIZED),
    "OwnDataset.test_file": (
        "training.dataset.test_file",
        "./table.csv",
        {"training": {"dataset": {**SIZED["training"]["dataset"], "file": "../lab/table.csv"}}},
    ),
    "Owners.file": ("training.split", "{kind: owners, file: owners.txt}", {}),
    "TrainingSection.initial": ("training.initial", "model.npz", {}),
    "TrainingSection.model": ("training.model", "./net.py:net", {}),
    "TrainingSection.loss": (
        "training.loss",
        "net.py:loss",
        {"training": {"model": "./net.py:net"}},
    ),
    **{
        f"TrainingSection.{part}": (f"training.{part}", f"./own.py:{part.capitalize()}", {})
        for part in ("codec", "modulation", "synchronization", "optimizer", "aggregation")
    },
    "TrainingSection.schedule": ("training.schedule", "{kind: own.py:Schedule}", {}),
    "Class in a file.kind": ("faults", "[{kind: ./own.py:Fault, nodes: all, at: 1s}]", {}),
    "NetworkSection.file": ("network", "{file: ./net.graphml, attach: {a: x}}", {}),
    "WorkloadSection.build": ("workload.build", "./app", {"workload": BUILT}),
    "WorkloadSection.data": ("workload.data", "./line.csv", {"workload": IMAGE}),
    "Program.mounts": ("workload.device.mounts", "{/a: ./app}", {"workload": IMAGE}),
    "ServerProgram.mounts": ("workload.server.mounts", "{/b: line.csv}", {"workload": IMAGE}),
    "ReportSection.figures": ("report.figures", "[./own.py:Figure]", {}),
}
"""For each key that names a file: its place, a value, and the keys around it."""


def put(data: Any, place: str, value: Any) -> None:
    *steps, last = place.replace("[", ".").replace("]", "").split(".")
    for step in steps:
        number = step.isdigit()
        if not number and data.get(step) is None:
            data[step] = {}
        data = data[int(step) if number else step]
    data[int(last) if last.isdigit() else last] = value
