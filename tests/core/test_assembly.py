"""The plan of a run, and the parts that are made from it."""

import io
import re
from pathlib import Path

import msgspec
import numpy as np

from emulator.codecs import AdaCompResidual, ErrorFeedback, SegmentEncoder, TopK
from emulator.core import assembly
from emulator.core.plan import Plan
from emulator.core.server.parameter_server import Driver
from emulator.learning import models
from emulator.learning.datasets.examples import Examples
from emulator.log.lines import RunLog
from emulator.runs.planning import plan
from emulator.scenario import loads

TEXT = """
name: planned
seed: 7
training: {dataset: digits, model: digits-mlp, codec: {kind: topk, keep: 1%}, error_feedback: true}
stop: {updates: 100, time: 1min}
server: {checkpoint: {every: 30s}}
devices: [{name: far, count: 2}]
"""
EXAMPLES = {"far-0": 200, "far-1": 100}
PLAN = plan(loads(TEXT), EXAMPLES)
LAYOUT = models.find("digits-mlp").layout
EMULATOR = Path(assembly.__file__).parents[1]


def data(count: int) -> Examples:
    return Examples(np.zeros((count, 8, 8), np.uint8), np.arange(count, dtype=np.uint8) % 10, 16)


def test_a_plan_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(PLAN), type=Plan) == PLAN


def test_a_run_that_trains_nothing_has_neither_an_evaluator_nor_checkpoints() -> None:
    traffic = plan(loads(TEXT), None)
    assert (traffic.evaluator, traffic.checkpoint, traffic.examples) == (None, None, {})
    assert (PLAN.evaluator, PLAN.checkpoint, PLAN.examples) == ("evaluator", 30.0, EXAMPLES)


def test_a_server_is_made_from_its_plan() -> None:
    state, log = assembly.parameters(PLAN), RunLog(io.BytesIO())
    server = assembly.server(PLAN, state, log, 5.0, Driver(gathering=60.0))
    assert server.missing == ["evaluator", "far-0", "far-1"]
    assert server.deadline() == 65.0
    assert np.array_equal(state.theta, models.find("digits-mlp").initial(7))


def test_each_incarnation_of_a_worker_has_its_own_streams() -> None:
    parts = assembly.WorkerAssembly(PLAN.worker, LAYOUT)
    drawn = {
        key: parts.batches(*key, data(200)).draw().tobytes()
        for key in (("far-0", 0), ("far-0", 1), ("far-1", 0))
    }
    assert len(set(drawn.values())) == 3
    assert parts.batches("far-0", 0, data(200)).draw().tobytes() == drawn["far-0", 0]


def test_an_encoder_is_made_from_the_plan() -> None:
    parts = assembly.WorkerAssembly(PLAN.worker, LAYOUT)
    assert isinstance(parts.codec, TopK)
    encoder = parts.encoder("far-0", 0, parts.batches("far-0", 0, data(200)))
    assert isinstance(encoder, ErrorFeedback)
    other = msgspec.structs.replace(
        PLAN.worker, codec={"kind": AdaCompResidual.kind}, error_feedback=False
    )
    bare = assembly.WorkerAssembly(other, LAYOUT)
    assert isinstance(bare.codec, AdaCompResidual)


def test_an_encoder_by_segment_draws_as_the_other_does() -> None:
    codec = {"kind": "terngrad"}
    parts = assembly.WorkerAssembly(msgspec.structs.replace(PLAN.worker, codec=codec), LAYOUT)
    batches = parts.batches("far-0", 1, data(200))
    whole, cut = (make("far-0", 1, batches) for make in (parts.encoder, parts.segment_encoder))
    gradient = np.random.default_rng(0).standard_normal(LAYOUT.size, np.float32)
    assert isinstance(whole, ErrorFeedback) and isinstance(cut, SegmentEncoder)
    one = (1, len(LAYOUT.layers))
    assert [whole.encode(gradient) for _ in range(2)] == [cut.encode(one, gradient) for _ in "12"]


def test_a_worker_holds_a_model_only_where_models_travel_coded() -> None:
    assert assembly.WorkerAssembly(PLAN.worker, LAYOUT).held_model() is None
    delta = msgspec.structs.replace(PLAN.worker, pull={"kind": "delta"})
    assert assembly.WorkerAssembly(delta, LAYOUT).held_model() is not None


def test_servers_encoders_and_batches_are_made_in_one_place() -> None:
    made = re.compile(r"\b(ParameterServer|Batches|codecs\.encoder|\w+\.Parameters)\(")
    places = {
        path.relative_to(EMULATOR).as_posix()
        for path in EMULATOR.rglob("*.py")
        if any(made.search(line) for line in path.read_text().splitlines() if "class " not in line)
    }
    assert places == {"core/assembly.py"}
