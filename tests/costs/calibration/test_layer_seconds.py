"""Computing times of layers: measured once by a process of its own, stored, and read again."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import patch

import pytest

from emulator.costs import calibration
from emulator.costs.calibration import (
    LayerSeconds,
    layer_seconds,
    measuring,
    record,
)
from emulator.errors import HostError
from emulator.learning.learners.export import exported
from emulator.learning.models import find
from tests.fakes.made_up_calibration import stored

pytestmark = pytest.mark.usefixtures("calibration_cache")
HERE = ("here", "Some Processor")
TIMES = LayerSeconds(*HERE, "digits-mlp", 10, (0.1, 0.2, 0.3), (0.2, 0.4, 0.6))


def measured(*arguments: object) -> LayerSeconds:
    return TIMES


def test_layers_are_measured_once() -> None:
    said: list[str] = []
    with patch.object(calibration, "measure_layers", measured):
        assert layer_seconds("digits-mlp", 10, said.append) == TIMES
    with patch.object(calibration, "measure_layers", None):
        assert layer_seconds("digits-mlp", 10, said.append) == TIMES
    assert TIMES.gradient == pytest.approx(1.8)


@pytest.mark.parametrize("other", [{"host": "b"}, {"processor": "b"}, {"batch_size": 11}])
def test_times_are_of_one_host_processor_and_batch_size(other: dict[str, object]) -> None:
    record.store_layers(replace(TIMES, **other))  # type: ignore[arg-type]
    assert record.find_layers(*HERE, "digits-mlp", 10) is None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"forward": [1], "backward": [1]}',
        *(b'"forward": %s' % passes for passes in (b"[]", b"[1]", b"[0, 1, 1]", b"[1, NaN, 1]")),
        b'"forward": "abc"',
        b'"model": "mnist-mlp"',
    ],
)
def test_a_damaged_file_is_measured_again(
    damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = record.store_layers(TIMES)
    sound = file.read_bytes()
    if damage.startswith(b'"'):
        key = damage.partition(b":")[0]
        begin = sound.index(key)
        end = sound.index(b"]" if key == b'"forward"' else b",", begin)
        end += key == b'"forward"'
        file.write_bytes(sound[:begin] + damage + sound[end:])
    else:
        file.write_bytes(damage)
    with patch.object(calibration, "measure_layers", measured):
        assert layer_seconds("digits-mlp", 10, print) == TIMES
    assert file.name in capsys.readouterr().err
    assert file.read_bytes() == sound


def test_the_files_of_steps_are_others() -> None:
    record.store_layers(TIMES)
    assert stored() == []


@pytest.mark.slow
def test_a_process_that_fails_is_reported_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"(?s)layers of digits-mlp:.*No such file"):
        measuring.layer_times(find("digits-mlp"), 10, tmp_path)


@pytest.mark.tensorflow
def test_the_layers_of_a_model_take_their_time() -> None:
    with patch.dict(os.environ):
        del os.environ["EMULATE_CACHE"]  # or the graphs would have to be exported again
        graph = exported("mnist-cnn")
    with patch.object(measuring, "ready", lambda model, seed: graph):
        times = layer_seconds("mnist-cnn", 10, print)
    assert record.read_layers(asdict(times)) == times
    assert len(times.forward) == len(times.backward) == 4
    assert max(times.forward) == times.forward[1]  # most multiplications
    assert max(times.backward) == times.backward[1]
    assert 0.001 < times.gradient < 0.1
