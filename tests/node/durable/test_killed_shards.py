"""Shards that are killed at any moment: no acknowledged update is lost or doubled, anywhere."""

from pathlib import Path

import pytest

from emulator import codecs, modulation, optimizers, plugins
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.zmtp import Form
from emulator.log.lines import read
from emulator.log.records import RecoveredRecord, UpdateRecord
from emulator.node.durable import journal
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


@pytest.mark.parametrize("replay", [0.0, 1e9], ids=["with states", "without states"])
@pytest.mark.parametrize("policy", [Asynchronous(), Barrier(), Softsync(splits=2)], ids=str)
@pytest.mark.parametrize("seed", [1, 2])
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
    staged = sum(state._follower.staged for state in fleet.states.values())
    assert staged <= 2 * 2 * len(fleet.devices), "parts that no step will use stay"
