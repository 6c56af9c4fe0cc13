"""The state of a user's plugin comes back with the server: objects of its classes, and its dice."""

import random
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from emulator import synchronization
from emulator.checks.own_parts import unfit_plugins
from emulator.core.server import refusal_counts
from emulator.node.durable import journal
from emulator.node.durable.packed_state import PackedState, packed, unpacked
from emulator.plugins.stateful import Held, copied
from emulator.scenario import load
from tests.fakes.node.durable_fleet import DurableFleet, frozen, plan_of
from tests.node.durable.equal_states import same

BESIDE = """
import msgspec
from emulator.plugins.stateful import Held

class Note(Held, msgspec.Struct):
    node: str
"""
SOURCE = """
import random, threading
from dataclasses import dataclass
from enum import Enum
from typing import Any
import msgspec
import numpy as np
from emulator.plugins.stateful import Held
from emulator.synchronization.softsync import Collecting
from beside import Note

class Phase(Enum):
    COLD = 1
    WARM = 2

class Pair(Held, msgspec.Struct, frozen=True, eq=False):
    node: str
    arrival: Any

@dataclass(frozen=True)
class Rule:
    choose: Any

class State(Collecting):
    STATE = (*Collecting.STATE, "waiting", "notes", "last", "dice", "lock")

    def __init__(self, members, seed):
        super().__init__(len(members), 2)
        self.phase, self.waiting, self.notes, self.last = Phase.COLD, [], {}, None
        self.rule, self.lock = Rule(max), None
        self.dice = [np.random.default_rng(seed), random.Random(seed)]

    def state(self):
        return {**super().state(), "phase": self.phase.name}

    def restore(self, state):
        super().restore(state)
        self.phase = Phase[state["phase"]]

    def arrive(self, node, arrival, now):
        self.phase = Phase.WARM if self.phase is Phase.COLD else Phase.COLD
        self.last = Pair(node, None)
        self.notes[node] = Note(self.rule.choose([node]))
        self.waiting.append(Pair(node, arrival))
        if self.dice[0].random() + self.dice[1].random() < 1 or self.phase is Phase.WARM:
            return None
        step, self.waiting = [pair.arrival for pair in self.waiting], []
        return step

class Silent(Collecting):
    def __init__(self, members):
        super().__init__(len(members), 2)
        self.waiting = []

@dataclass(frozen=True)
class Mine:
    lock: bool = False
    silent: bool = False

    def start(self, members, seed=0, examples=None):
        if self.silent:
            return Silent(members)
        state = State(members, seed)
        if self.lock:
            state.lock = threading.Lock()
        return state
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (folder := tmp_path / "plugins").mkdir()
    (folder / "own.py").write_text(SOURCE)
    (folder / "beside.py").write_text(BESIDE)
    return f"{folder}/own.py:Mine"


@pytest.mark.mostly_slow
@pytest.mark.parametrize("replay", [0.0, 1e9], ids=["states", "inputs"])
def test_a_killed_server_has_the_objects_of_a_plugin_again(
    mine: str, replay: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "REPLAY", replay)
    own = synchronization.make({"kind": mine})
    fleet = DurableFleet(plan_of(synchronization=own), tmp_path, seed=2)
    fleet.begin()
    for _ in range(3):
        fleet.play(40)
        if fleet.server.journal._saving:
            fleet.server.journal._saving.result()
        before, version = frozen(fleet.server.server), fleet.server.version
        fleet.boot()
        assert same(frozen(fleet.server.server), before)
        assert fleet.server.version == version
    assert fleet.server.version > 20


def test_a_state_fits_a_server_whose_plugin_lies_elsewhere(mine: str, tmp_path: Path) -> None:
    """The state of a container is read on the host, where the run's folder has the sources."""
    saved, states = None, []
    for folder in ("container", "host"):
        shutil.copytree(Path(mine).parent, tmp_path / "copies" / folder)
        own = synchronization.make({"kind": f"{tmp_path}/copies/{folder}/own.py:Mine"})
        states.append(state := own.start(frozenset("ab"), 3))
        if saved is None:
            state.arrive("a", 1, 0.0)
            saved = frozen(state)
        else:
            state.restore(unpacked(saved))
    assert same(frozen(states[1]), frozen(states[0]))
    assert [type(state.notes["a"]).__module__ for state in states] == ["beside", "beside"]
    assert states[1].waiting and repr(states[1].waiting) == repr(states[0].waiting)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_random_generators_go_on_where_they_were(bits: Any) -> None:
    dice = {"numpy": np.random.Generator(bits(1)), "python": random.Random(1)}
    saved = packed(copied(dice))
    expected = [each.random() for each in dice.values()]
    for _ in range(2):
        assert [each.random() for each in unpacked(saved).values()] == expected


@pytest.mark.parametrize("name", ["Collecting", "ndarray", "Thread", "Lost"])
def test_a_state_names_no_class_but_those_of_held_values(name: str) -> None:
    with pytest.raises(ValueError, match=f"no class {name} holds"):
        unpacked(PackedState(["held", name], []))


def test_a_state_that_no_file_can_hold_is_refused_before_a_run(mine: str, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(
        "name: lab\n"
        "training:\n"
        "  {dataset: digits, model: digits-mlp, codec: dense,\n"
        f"   synchronization: {{kind: '{mine}', lock: true}}}}\n"
        "stop: {updates: 1}\n"
        "devices: [{name: a, count: 2}]\n"
    )
    assert not list(unfit_plugins(load(tmp_path / "lab.yaml")))
    (refused,) = unfit_plugins(load(tmp_path / "lab.yaml", ["server.durability=update"]))
    assert str(refused).startswith(
        "training.synchronization: own.py:Mine: a lock is no state of a server: with server.dur"
    )
    silent = (tmp_path / "lab.yaml").read_text().replace("lock: true", "silent: true")
    (tmp_path / "lab.yaml").write_text(silent)
    assert not list(unfit_plugins(load(tmp_path / "lab.yaml")))
    (refused,) = unfit_plugins(load(tmp_path / "lab.yaml", ["server.durability=update"]))
    assert "own.py:Mine: with server.durability Silent needs methods state() and" in str(refused)


def test_a_held_value_of_a_user_is_found_by_its_own_name() -> None:
    """Also one that another held value was made from, or whose name the emulator has too."""

    class Pair(Held, msgspec.Struct):
        node: str

    class Triple(Pair):
        count: int

    class Tally(Held, msgspec.Struct):
        held: Any

    tally = Tally([Triple("a", 2), Pair("b")])
    again = unpacked(packed(tally))
    assert (type(again), again) == (Tally, tally)
    ours = refusal_counts.Tally()
    assert type(unpacked(packed(ours))) is refusal_counts.Tally


def test_a_state_that_does_not_come_back_is_refused_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from dataclasses import dataclass\n"
        "from emulator.synchronization.softsync import Collecting\n"
        "class Forgetful(Collecting):\n"
        "    def restore(self, state):\n"
        "        super().restore(state['inner'])\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    def start(self, members, seed=0, examples=None):\n"
        "        return Forgetful(len(members), 2)\n"
    )
    (tmp_path / "lab.yaml").write_text(
        "name: lab\n"
        "training:\n"
        "  {dataset: digits, model: digits-mlp, codec: dense, synchronization: ./own.py:Mine}\n"
        "server: {durability: update}\n"
        "stop: {updates: 1}\n"
        "devices: [{name: a, count: 2}]\n"
    )
    (refused,) = unfit_plugins(load(tmp_path / "lab.yaml"))
    assert "restore(state) does not take what state() gives: KeyError('inner')" in str(refused)


SYNCHRONIZATIONS: list[Any] = [
    {"kind": "asynchronous"},
    {"kind": "barrier"},
    {"kind": "bounded"},
    {"kind": "softsync", "splits": 2},
    {"kind": "groups", "groups": 2},
    {"kind": "fedavg", "clients": 0.5},
    {"kind": "local-sgd", "steps": 2},
]


@pytest.mark.parametrize("kind", SYNCHRONIZATIONS, ids=str)
def test_a_subclass_of_a_synchronizer_keeps_the_attributes_that_it_names(kind: Any) -> None:
    state: Any = synchronization.make(kind).start(frozenset("abcd"), 1)
    cls = type(state)
    state.__class__ = type("Mine", (cls,), {"STATE": (*cls.STATE, "extra")})
    state.extra = 3
    saved = copied(state.state())
    state.extra = 4
    state.restore(saved)
    assert state.extra == 3
