"""The parts of a worker's process, and the state that a device keeps over a loss of power."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from emulator.core.assembly import WorkerAssembly
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.batches import Batches
from emulator.learning.models import find
from emulator.node.part import worker_parts
from emulator.node.part.worker_parts import KeptFile
from tests.fakes.node.supervised import WORKER

CODECS = [{"kind": "topk", "keep": 0.05}, {"kind": "dgc"}, {"kind": "qsgd"}]


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec["kind"])
def test_the_state_of_a_device_is_that_of_the_encoder_that_encodes_its_updates(
    codec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that goes on from it encodes what it would have encoded without the loss."""
    encoders: list[Any] = []
    monkeypatch.setattr(worker_parts, "DeviceLearner", lambda *parts: None)
    monkeypatch.setattr(worker_parts, "Work", lambda *parts, **more: None)
    monkeypatch.setattr(worker_parts, "worker", lambda *parts: encoders.append(parts[2]))
    feedback = codec["kind"] != "dgc"
    plan = msgspec.structs.replace(WORKER.plan, codec=codec, error_feedback=feedback)
    part = msgspec.structs.replace(WORKER, plan=plan)
    assembly = WorkerAssembly(plan, find("digits-mlp").layout)
    node: Any = SimpleNamespace(name="far", clock=None)
    faults: Any = SimpleNamespace(settings=dict)

    def boot(incarnation: int) -> KeptFile:
        examples = Examples(np.zeros((23, 8, 8), np.uint8), np.zeros(23, np.uint8), 16)
        batches = Batches(examples, 5, f"far/{incarnation}")
        made = worker_parts.worker_parts(node, incarnation, part, assembly, None, batches, faults)
        assert made.encoder is not None
        return KeptFile(made.encoder, batches, tmp_path / "state.npz")

    dice = np.random.default_rng(4)
    gradients = dice.normal(size=(5, assembly.layout.size)).astype(np.float32)
    kept = boot(0)
    for gradient in gradients[:3]:
        encoders[0].encode(gradient)
        kept.store()
    boot(1).go_on()
    for gradient in gradients[3:]:
        before, after = ([*map(bytes, each.encode(gradient))] for each in encoders)
        assert before == after
