"""The state that devices keep over a loss of power: they go on as if nothing had happened."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator import codecs
from emulator.codecs import Codec
from emulator.errors import ScenarioError
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.batches import Batches
from emulator.node.part.worker_parts import KeptFile, read
from emulator.scenario import loads
from tests.fakes.codecs.codec_table import ROWS, SMALL, place
from tests.fakes.codecs.stateless_codecs import TABLE

CODECS: dict[str, Codec] = {name: row.codec for name, row in ROWS.items()}
CODECS |= {f"stateless-{number}": row.values[0] for number, row in enumerate(TABLE)}
CASES = [(name, False) for name in CODECS] + [
    (name, True) for name, codec in CODECS.items() if not codecs.refusal(codec)
]


def batches(name: str) -> Batches:
    examples = Examples(np.zeros((23, 2, 2), np.uint8), np.zeros(23, np.uint8), 16)
    return Batches(examples, 5, name)


def gradients(number: int) -> list[Any]:
    dice = np.random.default_rng(4)
    return [dice.normal(size=SMALL.size).astype(np.float32) for _ in range(number)]


@pytest.mark.parametrize(("name", "feedback"), CASES)
def test_a_device_sends_what_it_would_have_sent_without_the_crash(
    tmp_path: Path, name: str, feedback: bool
) -> None:
    encoder = codecs.encoder(CODECS[name], place(SMALL, 1), feedback)
    data, file = batches("a/0"), tmp_path / "state.npz"
    *before, after, later = gradients(7)
    for gradient in before:
        encoder.encode(gradient)
        data.draw()
        KeptFile(encoder, data, file).store()
    again, more = codecs.encoder(CODECS[name], place(SMALL, 2), feedback), batches("a/1")
    KeptFile(again, more, file).go_on()
    for gradient in (after, later):
        assert [*map(bytes, again.encode(gradient))] == [*map(bytes, encoder.encode(gradient))]
        assert (more.draw() == data.draw()).all()
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


@pytest.mark.parametrize("damage", ["gone", "torn", "foreign", "beyond"])
def test_a_device_with_a_damaged_state_begins_from_nothing(tmp_path: Path, damage: str) -> None:
    encoder = codecs.encoder(CODECS["qsgd"], place(SMALL, 1), True)
    file = tmp_path / "state.npz"
    data = batches("a/0")
    KeptFile(encoder, data, file).store()
    if damage == "gone":
        file.unlink()
    elif damage == "torn":
        file.write_bytes(file.read_bytes()[:-50])
    elif damage == "foreign":
        np.savez(file, facts=np.frombuffer(b"[]", np.uint8))
    else:
        arrays = dict(np.load(file))
        np.savez(file, **{**arrays, "unused": np.array([99])})
    fresh, same = (codecs.encoder(CODECS["qsgd"], place(SMALL, 2), True) for _ in range(2))
    KeptFile(fresh, batches("a/1"), file).go_on()
    (gradient,) = gradients(1)
    assert [*map(bytes, fresh.encode(gradient))] == [*map(bytes, same.encode(gradient))]


def test_a_forgotten_state_is_gone(tmp_path: Path) -> None:
    state = KeptFile(
        codecs.encoder(CODECS["dgc"], place(SMALL), False), batches("a"), tmp_path / "s.npz"
    )
    state.store()
    assert read(tmp_path / "s.npz").vectors[0].size == SMALL.size
    state.forget()
    state.forget()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("training", "key"),
    [
        ("codec: dense, schedule: layer-by-layer", "schedule"),
        ("codec: dense, schedule: {kind: dynacomm}", "schedule"),
        ("codec: dense, fully_connected: {place: server}", "fully_connected"),
        ("codec: dense, schedule: sequential", None),
    ],
)
def test_the_state_of_a_device_that_pushes_pieces_is_not_kept(
    training: str, key: str | None
) -> None:
    text = f"""
name: pieces
training: {{dataset: digits, model: digits-mlp, {training}}}
stop: {{time: 9s}}
devices: [{{name: a}}]
faults: [{{kind: crash, nodes: all, at: 1s, keeps: state}}]
"""
    if key is None:
        assert loads(text).keepers == {"a"}
        return
    with pytest.raises(ScenarioError, match=rf"faults\[0\].keeps: .* or training.{key}"):
        loads(text)
