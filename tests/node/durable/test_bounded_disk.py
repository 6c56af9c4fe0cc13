"""The room that states and inputs take on the disk, after docs/durability.md."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from emulator.codecs import Dense
from emulator.node.durable import journal, state_folder
from emulator.node.durable.packed_state import PackedState
from emulator.node.durable.state_folder import StateFolder
from tests.fakes.node.durable_fleet import DurableFleet, plan_of


class Disk:
    """The files of a server's state, as they were at each look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "durable"
        self.most_states = self.most_inputs = 0
        self.states: dict[int, int] = {}
        """Largest size of each state so far, by its number."""
        self.inputs: dict[int, int] = {}
        """Largest size of each segment so far, by the number of its first input."""

    def look(self) -> None:
        paths = list(self._folder.iterdir())
        sizes = {path.name: path.stat().st_size for path in paths if path.exists()}
        self.most_states = max(self.most_states, sum("state-" in name for name in sizes))
        self.most_inputs = max(
            self.most_inputs, sum(n for name, n in sizes.items() if "inp" in name)
        )
        for name, size in sizes.items():
            kind, number = re.findall("state|inputs|[0-9]+", name)[:2]
            seen = self.states if kind == "state" else self.inputs
            seen[int(number)] = max(size, seen.get(int(number), 0))


def test_the_room_is_that_of_the_page() -> None:
    assert (journal.REPLAY, journal.ROOM) == (1.0, 256 << 20)
    assert 3 * journal.ROOM == 768 << 20


@pytest.mark.parametrize("room", [1_200_000, 1], ids=["room", "large model"])
def test_inputs_and_states_have_a_bound(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model is large if four of its states take more than the room."""
    monkeypatch.setattr(journal, "REPLAY", 1e9)
    monkeypatch.setattr(journal, "ROOM", room)
    fleet, disk = DurableFleet(plan_of(codec=Dense()), tmp_path), Disk(tmp_path)
    write = state_folder.write_state

    def looking(path: Path, facts: object, state: PackedState) -> int:
        size = write(path, facts, state)  # type: ignore[arg-type]
        disk.look()  # when the disk holds most: nothing is removed yet
        return size

    monkeypatch.setattr(state_folder, "write_state", looking)
    fleet.begin()
    message = 0
    while len(disk.states) < 5:
        before = disk.most_inputs
        fleet.step()
        fleet.server.tick(fleet.now)
        fleet.server.journal.finish()
        disk.look()
        message = max(message, disk.most_inputs - before)
    assert disk.most_states == 3
    *whole, last = disk.inputs.items()
    assert last[1] == 0
    for number, size in whole:
        bound = max(room, 4 * disk.states[number] if number else 0)
        assert bound < size <= bound + message
        assert number == 0 or (bound == room) == (room > 1)
    assert disk.most_inputs <= 3 * (max(room, 4 * max(disk.states.values())) + message)


def test_two_states_and_the_inputs_since_the_older_one_are_kept(tmp_path: Path) -> None:
    folder, state = StateFolder(tmp_path), PackedState(["array", 0], [np.zeros(3, np.float32)])
    for number in (0, 10, 20, 30):
        with folder.begin_segment(number) as segment:
            for _ in range(10):
                segment.append([b"input"])
        folder.save(number, {}, state)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "inputs-000000000020.log",
        "inputs-000000000030.log",
        "state-000000000020.npz",
        "state-000000000030.npz",
    ]


def test_a_state_has_its_name_once_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a loss of power there is a whole state, and no line of the log that it presumes is
    missing."""
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    fleet.play(30)
    synchronized, fsync = [], os.fsync

    def spied(file: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        named = [found.name for found in (tmp_path / "durable").glob("state-*.npz")]
        synchronized.append((path.name, path.stat().st_size if path.is_file() else 0, named))
        fsync(file)

    monkeypatch.setattr(os, "fsync", spied)
    number = fleet.server.journal.number
    fleet.server._save(number)
    fleet.server.journal.finish()
    (state,) = (tmp_path / "durable").glob("state-*.npz")
    assert state.name == f"state-{number:012d}.npz"
    assert synchronized[:3] == [
        ("run.jsonl", (tmp_path / "run.jsonl").stat().st_size, []),
        (f".{state.name}.part", state.stat().st_size, []),
        ("durable", 0, [state.name]),
    ]
