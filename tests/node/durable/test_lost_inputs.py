"""A disk that lost the last inputs, as after a loss of power, or that refuses an input."""

import errno
import os
import shutil
from pathlib import Path
from random import Random

import pytest

from emulator.core.wire.messages import Update
from emulator.log.lines import read
from emulator.log.records import RecoveredRecord, UpdateRecord
from emulator.node.durable import journal
from emulator.node.durable.segment_file import SegmentWriter
from emulator.node.durable.state_folder import StateFolder
from tests.fakes.node.durable_fleet import DurableFleet, frozen, plan_of


def last_recovery(folder: Path) -> RecoveredRecord:
    *_, last = (r for r in read(folder / "run.jsonl") if isinstance(r, RecoveredRecord))
    return last


def held(folder: Path) -> list[int]:
    """Return the versions of the updates in the log that no recovery has lost, in order."""
    versions: list[int] = []
    for record in read(folder / "run.jsonl"):
        if isinstance(record, UpdateRecord):
            versions.append(record.version)
        elif isinstance(record, RecoveredRecord):
            del versions[record.version :]
    return versions


def saved_position(folder: Path) -> int:
    """Return the bytes of `run.jsonl` that the newest sound state presumes."""
    saved = StateFolder(folder / "durable").newest()
    return saved.facts["position"] if saved else 0


@pytest.mark.slow
@pytest.mark.parametrize("states", [False, True], ids=["inputs", "states"])
def test_lost_inputs_are_counted_and_the_run_goes_on(
    states: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the log of inputs the last bytes are lost, of `run.jsonl` some lines, or none."""
    monkeypatch.setattr(journal, "REPLAY", 0.0 if states else 1e9)
    whole = tmp_path / "whole"
    whole.mkdir()
    fleet = DurableFleet(plan_of(), whole, seed=2)
    fleet.begin()
    fleet.play(150)
    fleet.server.journal.finish()
    made = fleet.server.version
    assert made > 40
    dice, lost = Random(1), []
    for life in range(8):
        folder = Path(shutil.copytree(whole, tmp_path / str(life)))
        *earlier, inputs = sorted((folder / "durable").glob("inputs-*.log"))
        if earlier and life % 4 > 1:  # the newest state is lost, too, and inputs before it
            *_, newest = sorted((folder / "durable").glob("state-*.npz"))
            os.truncate(newest, 1000)
            inputs = earlier[-1]
        size = inputs.stat().st_size
        os.truncate(inputs, dice.randrange(0 if states else size // 4, size))
        log = folder / "run.jsonl"
        if life % 2:  # but no line that was synchronized before the state was saved
            cut = log.stat().st_size - dice.randrange(2000)
            os.truncate(log, max(cut, saved_position(folder)))
        known = max(r.version for r in read(log) if isinstance(r, UpdateRecord))
        fleet.output = folder
        fleet.boot()
        recovered = last_recovery(folder)
        assert recovered.version == fleet.server.version < made
        assert recovered.lost == max(0, known - fleet.server.version)
        lost.append(recovered.lost)
        fleet.models.clear()
        fleet.play(40)
        assert held(folder) == list(range(1, fleet.server.version + 1))
        # what came since is on the disk, behind the torn record
        before = frozen(fleet.server.server)
        fleet.boot()
        assert frozen(fleet.server.server).tree == before.tree  # with the pushes that have bytes
        assert last_recovery(folder).lost == 0
    assert max(lost) > 3


def test_an_input_that_the_disk_refuses_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is on the disk before a reply or record of it leaves the process."""
    fleet = DurableFleet(plan_of(), tmp_path)
    fleet.begin()
    fleet.play(20)
    fleet.pull("a")
    before, lines = frozen(fleet.server.server), fleet.lines

    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    version, ticket, _ = fleet.models["a"]
    push = Update("a", version, 0.5, 0.01, fleet.frames((1, 3)), ticket)
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left on device"):
        patched.setattr(os, "writev", full)
        fleet.tell(push)
    after = frozen(fleet.server.server)
    assert after.tree == before.tree and fleet.lines == lines
    fleet.boot()
    version = fleet.server.version
    fleet.tell(push)  # sent again to the server that came back
    assert fleet.server.version == version + 1


def test_each_input_is_on_the_disk_before_the_server_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fleet = DurableFleet(plan_of(), tmp_path)
    append, server = SegmentWriter.append, fleet.server.server

    def appending(writer: SegmentWriter, parts: list[bytes]) -> None:
        append(writer, parts)
        order.append("input")

    def spy(name: str) -> None:
        work = getattr(server, name)

        def taking(*arguments: object) -> object:
            order.append(name)
            return work(*arguments)

        monkeypatch.setattr(server, name, taking)

    monkeypatch.setattr(SegmentWriter, "append", appending)
    for name in ("receive", "refuse", "tick", "end", "record_unsent"):
        spy(name)
    fleet.begin()
    fleet.play(60)
    fleet.server.unsent(fleet.pull("a"), fleet.now)
    fleet.server.refuse("b", "unreadable", fleet.now)
    fleet.server.end("canceled", fleet.now)
    assert {"receive", "refuse", "end", "record_unsent"} <= {*order}
    assert order[::2] == ["input"] * (len(order) // 2)
    assert "input" not in order[1::2]
