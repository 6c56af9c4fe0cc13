"""Processes of shards, killed by -9 at random moments under load, each of them and all at once."""

import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from emulator import codecs, modulation, plugins
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.zmtp import Form
from emulator.learning import models
from emulator.learning.models import saved_model
from emulator.log.lines import read
from emulator.log.records import RecoveredRecord, UpdateRecord
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.node.durable_process import ServerProcess, fleet, free_port
from tests.fakes.node.durable_shards import model_of

SHARDS = 3
WORKERS = ("a", "b", "c", "d")


def plan() -> Plan:
    codec = plugins.plain(codecs.TopK(keep=Fraction(0.02), scope="variable"))
    form = Form(durable=True)
    return Plan(
        worker=WorkerPlan(seed=1, batch_size=10, codec=codec, fleet=4, form=form, shards=SHARDS),
        model="mnist-mlp",
        learning_rate=0.1,
        workers=WORKERS,
        modulation=plugins.plain(modulation.PerParameter()),
        stop=Stop(updates=10**6),
        durability=Durability(),
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [8, pytest.param(60, marks=pytest.mark.thorough)])
def test_shards_killed_at_random_moments_lose_and_double_nothing(
    kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, dice = plan(), Random(kills)
    with ExitStack() as opened:
        sockets = opened.enter_context(TemporaryDirectory())  # a path of a socket must be short
        monkeypatch.setenv("SHARDS", sockets)
        leader = ServerProcess(planned, tmp_path, free_port())
        followers = [
            ServerProcess(planned, tmp_path, free_port(), number, leader.issued)
            for number in range(1, SHARDS)
        ]
        servers = [leader, *followers]
        for server in servers:
            server.start()
            opened.callback(server.end)
        with fleet(planned, leader, seconds=0.005, others=followers) as learners:
            _until(lambda: all(learner.models for learner in learners))
            for number in range(kills):
                time.sleep(dice.uniform(0.05, 1.0))
                struck = servers if number % (SHARDS + 1) == SHARDS else [servers[number % 4]]
                for server in struck:
                    server.kill()
                dice.shuffle(struck := [*struck])
                for server in struck:
                    server.start()
                since = time.monotonic()
                _until(lambda since=since: any(each.models[-1] > since for each in learners))
            time.sleep(0.5)
            assert leader.process is not None
            leader.process.terminate()
            for server in servers:
                assert server.wait(30) == 0
    records = list(read(leader.output / "run.jsonl"))
    updates = [record for record in records if isinstance(record, UpdateRecord)]
    applied = [update.loss for update in updates]
    acknowledged = {loss for learner in learners for loss in learner.acknowledged}
    assert len(set(applied)) == len(applied), "an update was applied twice"
    assert acknowledged <= set(applied), "an acknowledged update was lost"
    assert [update.version for update in updates] == [*range(1, len(updates) + 1)]
    recovered = [record for record in records if isinstance(record, RecoveredRecord)]
    assert len(recovered) == kills // 2 and not any(record.lost for record in recovered)
    saved = saved_model.read(leader.output / "model.npz", models.find("mnist-mlp").layout)
    assert saved.version == len(updates)
    assert saved.theta.tobytes() == _whole(planned, updates)
    print(f"{len(updates)} updates, {len(acknowledged)} acknowledged, {kills} kills")


def _until(true, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def _whole(planned: Plan, updates: list[UpdateRecord]) -> bytes:
    model: bytes = model_of(planned, updates).tobytes()
    return model
