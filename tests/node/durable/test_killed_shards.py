"""Shards that are killed at any moment: no acknowledged update is lost or doubled, anywhere."""

import os
import time
from pathlib import Path

import pytest

from emulator import codecs, modulation, optimizers, plugins
from emulator.core import assembly
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.server.parameter_server import Driver
from emulator.core.sharding.leader import Leader
from emulator.core.sharding.shard_channels import LostByDisk
from emulator.core.zmtp import Form
from emulator.log.lines import RunLog, read
from emulator.log.records import RecoveredRecord, UpdateRecord
from emulator.node.durable import journal
from emulator.node.durable.recovery import last_state
from emulator.node.durable.shards_on_disk import reports_of
from emulator.synchronization import AnySynchronization, Asynchronous, Barrier, Softsync
from emulator.units import Fraction
from tests.fakes.node.durable_shards import DurableShards, model_of


def plan_of(policy: AnySynchronization) -> Plan:
    codec = plugins.plain(codecs.TopK(keep=Fraction(0.02), scope="variable"))
    worker = WorkerPlan(
        seed=3, batch_size=4, codec=codec, fleet=4, form=Form(durable=True), shards=3
    )
    return Plan(
        worker=worker,
        model="digits-mlp",
        learning_rate=0.1,
        workers=("a", "b", "c", "d"),
        durability=Durability(),
        synchronization=plugins.plain(policy),
        modulation=plugins.plain(modulation.PerParameter()),
        optimizer=plugins.plain(optimizers.Momentum(momentum=0.5)),
        examples=dict.fromkeys("abcd", 20),
    )


@pytest.mark.slow
@pytest.mark.parametrize("replay", [0.0, 1e9], ids=["with states", "without states"])
@pytest.mark.parametrize("policy", [Asynchronous(), Barrier(), Softsync(splits=2)], ids=str)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_shards_that_are_killed_lose_and_double_nothing(
    policy: AnySynchronization,
    replay: float,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "REPLAY", replay)
    fleet = DurableShards(plan_of(policy), tmp_path, seed, kills=0.0)
    fleet.begin()
    with fleet.writes(monkeypatch):
        fleet.kills = 0.004
        for _ in range(2000):
            fleet.step()
        fleet.kills = 0.0
        for _ in range(300):
            fleet.step()
    records = list(read(tmp_path / "run.jsonl"))
    updates = [record for record in records if isinstance(record, UpdateRecord)]
    applied = [update.loss for update in updates]
    acknowledged = {loss for device in fleet.devices.values() for loss in device.acknowledged}
    assert len(set(applied)) == len(applied), "an update was applied twice"
    # a push waits for another one
    waits = 1 if isinstance(policy, Softsync) else 0
    assert len(acknowledged - set(applied)) <= waits, "an acknowledged update was lost"
    assert [update.version for update in updates] == [*range(1, len(updates) + 1)]
    assert min(fleet.killed) > 3 and len(updates) > 40
    recovered = [record for record in records if isinstance(record, RecoveredRecord)]
    assert recovered and not any(record.lost for record in recovered)
    versions = {state._follower._parameters.version for state in fleet.states.values()}
    assert versions == {fleet.server.version} == {len(updates)}
    if isinstance(policy, Asynchronous):
        assert fleet.server.model.snapshot().tobytes() == model_of(fleet.plan, updates).tobytes()
    for _ in range(3):  # the last news, and orders to drop parts
        fleet.look_around()
    until = time.monotonic() + 10
    while staged(fleet) != held(fleet):  # a state that is being written holds what it had
        assert time.monotonic() < until, "parts that no step will use stay"
        fleet.server.server._followers.drop()  # as before each order, of which none may come now
        fleet.look_around()


def staged(fleet: DurableShards) -> dict[int, set[int]]:
    """Return the numbers of the parts that wait for a step at each follower."""
    return {shard: {*state._follower._staged} for shard, state in fleet.states.items()}


def held(fleet: DurableShards) -> dict[int, set[int]]:
    """Return the numbers of the parts of each follower that the leader refers to."""
    return {shard: {*parts} for shard, parts in fleet.server.server._followers._held.items()}


def played(output: Path, steps: int = 400) -> DurableShards:
    fleet = DurableShards(plan_of(Asynchronous()), output, seed=5, kills=0.0)
    fleet.begin()
    for _ in range(steps):
        fleet.step()
    return fleet


@pytest.mark.slow
@pytest.mark.parametrize("replay", [0.0, 1e9], ids=["with states", "without states"])
def test_the_files_of_all_shards_give_the_model(
    replay: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "REPLAY", replay)
    fleet = played(tmp_path)
    for each in (fleet.server.journal, *fleet.journals.values()):
        each.finish()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    reports = reports_of(
        {
            number: (tmp_path / str(number), fleet.follower(number))
            for number in range(1, len(fleet.shards))
        }
    )
    given = Driver(gathering=None)

    def build(log: RunLog) -> Leader:
        return assembly.leader(fleet.plan, log, 0.0, given, reports)

    read = last_state(tmp_path, fleet.plan, build, reports)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert (read.server.version, read.lines) == (fleet.server.version, [])
    assert read.server.version == read.logged > 20
    model = fleet.server.model.snapshot()
    assert read.server.model.snapshot().tobytes() == model.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("shard", [0, 1])
def test_shards_of_which_one_has_lost_inputs_do_not_go_on(shard: int, tmp_path: Path) -> None:
    """As after a loss of power: each disk keeps what it has written."""
    fleet = played(tmp_path)
    folder = tmp_path / str(shard) if shard else tmp_path
    (inputs,) = (folder / "durable").glob("inputs-*.log")
    os.truncate(inputs, inputs.stat().st_size * 3 // 4)
    words = f"has lost inputs of {'shard 2' if shard else 'the leader'}: it knows orders up"
    with pytest.raises(LostByDisk, match=words):
        for number in (shard, *range(len(fleet.shards))):
            fleet.restart(number)
        for _ in range(100):
            fleet.step()
