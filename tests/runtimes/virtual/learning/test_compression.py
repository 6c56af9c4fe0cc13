"""Measures of updates by variable: entries sent, and the residue that the encoder keeps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator import codecs
from emulator.codecs import TopK
from emulator.learning.models import find
from emulator.runtimes.virtual.learning.compression import CompressionMeter
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from emulator.units import Fraction
from tests.fakes.codecs.codec_table import place
from tests.fakes.plain_records import read
from tests.fakes.small_scenario import mistakes
from tests.fakes.virtual_world import Onlooker

WORLD = """
name: measured
training: {{dataset: digits, model: digits-mlp, codec: {codec}, learning_rate: 0.05}}
evaluate: {{every: 20}}
stop: {{updates: 40}}
virtual: {{learner: numpy, step: {{exponential: 10ms}}, boot: 1s}}
devices: [{{name: a, count: 2}}]
"""


def run(folder: Path, codec: str, *overrides: str) -> list[dict[str, Any]]:
    played, _ = play(loads(WORLD.format(codec=codec), overrides), folder, Onlooker())
    return [dict(record) for record in read(played / "run.jsonl")]


@pytest.mark.parametrize(
    ("codec", "feedback"),
    [("adacomp-residual", False), ("{kind: topk, keep: 5%}", True), ("dgc", False)],
)
def test_entries_and_residues_are_those_of_the_update_that_follows(
    tmp_path: Path, data: None, codec: str, feedback: bool
) -> None:
    ways = f"training.error_feedback={str(feedback).lower()}"
    plain = run(tmp_path / "plain", codec, ways)
    found = run(tmp_path / "measured", codec, ways, "measure.compression.every=4")
    came = [record for record in found if record["what"] == "compression"]
    assert [record for record in found if record["what"] != "compression"] == plain
    for name in ("a-0", "a-1"):
        own = [record for record in came if record["node"] == name]
        pushed = [r for r in plain if r["what"] == "update" and r["node"] == name]
        assert [r["updates"] for r in own] == [4 * (n + 1) for n in range(len(own))]
        for record in own[: len(pushed) // 4]:
            update = pushed[record["updates"] - 1]
            assert sum(record["sent"].values()) == update["entries"]
            assert record["at"] <= update["at"]
            assert record["residue"].keys() == record["sent"].keys()
        assert len(own) >= len(pushed) // 4 > 2


def test_an_encoder_without_memory_keeps_no_residue(tmp_path: Path, data: None) -> None:
    found = run(tmp_path, "dense", "measure.compression.every=9")
    came = [record for record in found if record["what"] == "compression"]
    assert came and all(record["residue"] == {} for record in came)
    assert came[0]["sent"]["dense2/bias"] == 10


def test_a_residue_is_the_root_mean_square_of_what_was_not_sent() -> None:
    layout = find("digits-softmax").layout
    codec = TopK(keep=Fraction(0.01), values="f32", indices="u16")
    encoder = codecs.encoder(codec, place(layout, 1), True)
    gradient = np.random.default_rng(1).normal(size=layout.size).astype(np.float32)
    frames = encoder.encode(gradient)
    sent = codec.decode(frames, layout)
    (measured,) = [CompressionMeter(layout, 1).measured(frames, sent, encoder).compression]
    assert measured is not None and sent.indices is not None
    kept = gradient.copy()
    kept[sent.indices] -= sent.values
    for variable, (start, stop) in zip(layout.variables, layout.bounds, strict=True):
        part = kept[start:stop].astype(np.float64)
        assert measured.residue[variable.name] == pytest.approx(np.sqrt(np.mean(part**2)))


@pytest.mark.parametrize(
    ("override", "place"),
    [
        ("training.schedule=layer-by-layer", "training.schedule"),
        ("virtual.learner=none", "virtual.learner"),
    ],
)
def test_a_run_without_whole_updates_is_refused(override: str, place: str) -> None:
    told = mistakes(overrides=(override, "measure.compression={}"))
    assert any(f"{place}: does not go with measure.compression" in each for each in told), told
