"""Cut models over real sockets: devices and the server's layers in threads of this process."""

import io
import json
import threading
import time
from typing import Any

import numpy as np
import pytest

from emulator.core import assembly
from emulator.core.cut.activation_values import DeviceCoder, crossing_bytes
from emulator.core.cut.cut_worker import cut_worker
from emulator.core.plan import Cut, Plan
from emulator.core.wire.messages import ModelReply
from emulator.core.zmtp import Heartbeat
from emulator.learning.learners.numpy import NumpyServer, NumpyStages
from emulator.learning.learners.staged_learner import StagedLearner
from emulator.log.lines import RunLog
from emulator.node.part.server_role import SLACK, largest_frame
from emulator.synchronization import Barrier
from emulator.transport import node_driver, server_driver
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import AllowList, Secret, issue
from emulator.transport.work import Work
from tests.fakes.core.cut_fleet import MODEL, cut_plan, examples
from tests.fakes.core.made_server import planned_server

pytestmark = pytest.mark.timeout(60)

BEAT = Heartbeat(interval=0.1, timeout=0.4)
HELD_UP = 2 * BEAT.timeout


class SlowServer(NumpyServer):
    """A server's part that takes longer for one pass than a silent connection lives."""

    passes = 0

    def slopes(self, *given: Any) -> Any:
        self.passes += 1
        if self.passes == 5:
            time.sleep(HELD_UP)
        return super().slopes(*given)


def train(plan: Plan, cut: Cut, router: Router, secrets: dict[str, Secret], node: str) -> None:
    parts = assembly.WorkerAssembly(plan.worker, MODEL.layout)
    batches = parts.batches(node, 0, examples(int(node[1:])))
    learner, coder = StagedLearner(NumpyStages(MODEL.layout, cut.layer), batches), DeviceCoder(cut)
    size = MODEL.layout.part(cut.devices).size
    encoder = parts.encoder(node, 0, batches)
    coroutine = cut_worker(node, 0, coder, encoder, size, 20.0, ModelReply)
    with Peer(router.address, secrets[node], BEAT) as peer:
        node_driver.run(coroutine, peer, Work(learner, coder=coder))


def records_of(cut: Cut) -> list[dict[str, Any]]:
    """Return the records of a whole run of three devices behind a barrier."""
    plan, sink = cut_plan(Barrier(), cut), io.BytesIO()
    guests: AllowList
    guests, secrets = issue(plan.workers, encrypt=False)
    part = SlowServer(MODEL.layout, cut.layer)
    exchange = assembly.cut_exchange(plan, part, assembly.server_parameters(plan))
    now = time.monotonic()
    server = planned_server(plan, RunLog(sink), now, exchange, gathering=20.0)
    largest = largest_frame(plan, MODEL) + SLACK
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest) as router:
        threads = [
            threading.Thread(target=train, args=(plan, cut, router, secrets, node))
            for node in plan.workers
        ]
        for thread in threads:
            thread.start()
        server_driver.serve(server, router)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    return [json.loads(line) for line in sink.getvalue().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("cut", [Cut(1), Cut(2, labels="local", values="f16")])
def test_a_whole_run(cut: Cut) -> None:
    """Heartbeats outlive a pass that holds the server up: no device says hello again."""
    records = records_of(cut)
    kinds = {what: [r for r in records if r["what"] == what] for what in ("update", "activations")}
    assert len(kinds["update"]) == len(kinds["activations"]) == 60
    assert {record["staleness"] for record in kinds["activations"]} == {0}
    sizes = crossing_bytes(MODEL, cut, 6)
    for record in kinds["activations"]:
        assert 0 < record["up"] - sizes.up < 100
        assert 0 < record["down"] - sizes.down < 100
    losses = [record["loss"] for record in kinds["update"]]
    assert np.mean(losses[-9:]) < 0.8 * np.mean(losses[:9])
    assert len([r for r in records if r["what"] == "hello"]) == 3
    assert not [r for r in records if r["what"] in ("refused", "unsent")]
    assert records[-1]["reason"] == "updates"
    if cut.labels == "sent":
        times = [record["at"] for record in kinds["activations"]]
        assert max(np.diff(times)) > HELD_UP


def test_the_largest_frame_is_an_update_or_the_activations() -> None:
    small, large = (cut_plan(Barrier(), Cut(1), batch=batch) for batch in (6, 512))
    assert largest_frame(small, MODEL) == 4 * (64 * 128 + 128)
    assert largest_frame(large, MODEL) == 4 * 512 * 128
    assert largest_frame(cut_plan(Barrier(), None), MODEL) == 4 * MODEL.layout.size
