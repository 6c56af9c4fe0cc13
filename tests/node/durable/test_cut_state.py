"""The state of a server that holds layers of a cut model, on disk and back."""

import io
import json

import numpy as np
import pytest

from emulator import plugins, synchronization
from emulator.codecs import Dense
from emulator.core import assembly
from emulator.core.assembly import cut_exchange
from emulator.core.plan import Cut, Plan, WorkerPlan
from emulator.core.wire.messages import Activations, Hello, Logits, Pull
from emulator.learning.learners.numpy import NumpyServer
from emulator.learning.models import MODELS
from emulator.log.lines import RunLog
from emulator.node.durable.packed_state import PackedState, unpacked
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import planned_server
from tests.fakes.node.durable_fleet import frozen
from tests.node.durable.equal_states import same

MODEL = MODELS["digits-mlp"]
ROWS = 4


def made(labels: str):
    worker = WorkerPlan(1, ROWS, plugins.plain(Dense()), fleet=2, cut=Cut(1, labels))
    plan = Plan(
        worker,
        "digits-mlp",
        0.1,
        ("a", "b"),
        synchronization=plugins.plain(synchronization.Barrier()),
        stop=Stop(updates=100),
    )
    part, state = NumpyServer(MODEL.layout, 1), assembly.server_parameters(plan)
    return planned_server(plan, RunLog(io.BytesIO()), 0.0, cut_exchange(plan, part, state))


def activations(server, node: str, ticket: int):
    body = np.ones(ROWS * MODEL.crossing(1), np.float32).tobytes()
    sent = server._exchanges._cut._labels_sent
    labels = np.zeros(ROWS, np.int32).tobytes() if sent else None
    return server.handle(node, Activations(node, 0, ticket, ROWS, body, labels), 2.0)


@pytest.mark.parametrize("labels", ["sent", "local"])
def test_what_waits_at_the_cut_comes_back(labels):
    server = made(labels)
    for node in ("a", "b"):
        server.handle(node, Hello(node, 0), 1.0)
    for node in ("a", "b"):
        server.handle(node, Pull(node, 1), 1.5)
    assert activations(server, "a", 1) == []
    for waits in (True, False):
        if not waits:
            replies = activations(server, "b", 1)
            assert len(replies) == 2 and isinstance(replies[0][1], Logits) == (labels == "local")
        state = frozen(server)
        again = made(labels)
        again.restore(unpacked(PackedState(json.loads(json.dumps(state.tree)), state.leaves)))
        assert same(frozen(again), state)
