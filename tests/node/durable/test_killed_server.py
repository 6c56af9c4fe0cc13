"""A server killed by -9 at random moments under load: no acknowledged update is lost or doubled."""

import time
from random import Random

import numpy as np
import pytest

from emulator import codecs, modulation, plugins
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.server.parameters import Parameters
from emulator.core.zmtp import Form
from emulator.learning import models
from emulator.learning.models import saved_model
from emulator.log.lines import read
from emulator.log.records import RecoveredRecord, UpdateRecord
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.node.durable_process import ServerProcess, drawn, fleet, free_port

MODEL = "mnist-mlp"
WORKERS = ("a", "b", "c", "d", "e", "f")
LAYOUT = models.find(MODEL).layout


def plan_of(durability: Durability | None) -> Plan:
    codec = plugins.plain(codecs.TopK(keep=Fraction(0.01)))
    form = Form(durable=durability is not None)
    worker = WorkerPlan(seed=1, batch_size=10, codec=codec, fleet=6, form=form)
    return Plan(
        worker=worker,
        model=MODEL,
        learning_rate=0.1,
        workers=WORKERS,
        modulation=plugins.plain(modulation.PerParameter()),
        stop=Stop(updates=10**6),
        durability=durability,
    )


def replayed(records):
    """Return the model that the updates of `records`, in their order, make of the first model."""
    plan = plan_of(None)
    state = Parameters(
        models.find(MODEL).initial(plan.worker.seed),
        plan.learning_rate,
        modulation.PerParameter().start(LAYOUT),
    )
    codec = codecs.make(plan.worker.codec)
    context = codecs.EncoderContext(LAYOUT, np.random.default_rng(0))
    for update in records:
        frames = codec.start(context).encode(drawn(update.loss, LAYOUT.size))
        # the version of the device's model; in between its history is never forgotten
        pulled = update.version - 1 - update.staleness
        state.apply([(codec.decode(frames, LAYOUT), pulled)])
    return state.snapshot()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.thorough)])
def test_killed_at_random_moments_it_loses_and_doubles_nothing(kills, tmp_path):
    plan, dice = plan_of(Durability()), Random(kills)
    server = ServerProcess(plan, tmp_path, free_port())
    server.start()
    recoveries, work = [], []
    with fleet(plan, server, seconds=0.005) as learners:
        _until(lambda: all(learner.models for learner in learners))
        for number in range(1, kills + 1):
            time.sleep(dice.uniform(0.05, 1.0))
            server.kill()
            began = time.monotonic()
            server.start()
            _until(lambda n=number: server.recoveries() == n)  # a model may still be under way
            began_again = time.monotonic()
            _until(lambda since=began_again: _later(learners, since))
            recoveries.append(time.monotonic() - began)
            work.append(server.processor_time())
        time.sleep(0.5)
        server.process.terminate()
        server.wait(30)
    records = list(read(server.output / "run.jsonl"))
    updates = [record for record in records if isinstance(record, UpdateRecord)]
    applied = [update.loss for update in updates]
    acknowledged = {loss for learner in learners for loss in learner.acknowledged}
    assert len(set(applied)) == len(applied), "an update was applied twice"
    assert acknowledged <= set(applied), "an acknowledged update was lost"
    assert [update.version for update in updates] == list(range(1, len(updates) + 1))
    recovered = [record for record in records if isinstance(record, RecoveredRecord)]
    assert len(recovered) == kills and not any(record.lost for record in recovered)
    assert [r.at for r in records] == sorted(r.at for r in records)
    saved = saved_model.read(server.output / "model.npz", LAYOUT)
    assert saved.version == len(updates)
    assert saved.theta.tobytes() == replayed(updates).tobytes()
    refused = [record for record in records if record.what == "refused"]
    print(f"{len(updates)} updates, {len(acknowledged)} acknowledged, {len(refused)} refused")
    print(f"recovered in {np.median(recoveries):.2f} s, at most {max(recoveries):.2f} s")
    print(f"lost with a connection: {sum(learner.made for learner in learners) - len(updates)}")
    # other processes of the host may slow it down, but not add to its processor time
    assert max(work) < 3.0


def _later(learners, began):
    return any(learner.models[-1] > began for learner in learners)


def _until(true, seconds=60.0):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)
