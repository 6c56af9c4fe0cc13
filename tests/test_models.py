import subprocess
import sys

import numpy as np
import pytest

from emulator import models
from emulator.layout import Layout
from emulator.models import MODELS

SIZES = {
    "mnist-cnn": (421_642, 8),
    "mnist-mlp": (669_706, 6),
    "digits-mlp": (17_226, 6),
}


@pytest.mark.parametrize("name", MODELS)
def test_has_as_many_parameters_as_the_papers_say(name: str) -> None:
    layout = models.find(name).layout
    assert (layout.size, len(layout.variables)) == SIZES[name]


@pytest.mark.parametrize("name", MODELS)
def test_counts_layers_from_the_input_each_with_its_bias(name: str) -> None:
    variables = models.find(name).layout.variables
    assert [v.layer for v in variables] == [i // 2 for i in range(len(variables))]
    assert [v.kind == "bias" for v in variables] == [i % 2 == 1 for i in range(len(variables))]
    assert len({v.name for v in variables}) == len(variables)


def test_the_cnn_is_the_one_that_adacomp_was_tried_on() -> None:
    shapes = [v.shape for v in models.find("mnist-cnn").layout.variables]
    assert shapes[::2] == [(3, 3, 1, 32), (3, 3, 32, 64), (3136, 128), (128, 10)]


@pytest.mark.parametrize("name", MODELS)
def test_begins_alike_with_the_same_seed_only(name: str) -> None:
    model = models.find(name)
    first = model.initial(7)
    assert first.dtype == np.float32 and first.shape == (model.layout.size,)
    assert np.array_equal(first, model.initial(7))
    assert not np.array_equal(first, model.initial(8))


def test_the_cnn_begins_with_truncated_normals_and_biases_of_a_tenth() -> None:
    model = models.find("mnist-cnn")
    start = model.initial(0)
    weights = np.concatenate([start[at] for v, at in model.layout if v.kind != "bias"])
    biases = np.concatenate([start[at] for v, at in model.layout if v.kind == "bias"])
    assert np.all(biases == np.float32(0.1))
    assert np.abs(weights).max() <= np.float32(0.2)
    assert weights.std() == pytest.approx(0.0880, rel=0.01)  # 0.8796 σ, once cut at 2 σ
    assert abs(weights.mean()) < 0.001


@pytest.mark.parametrize("name", ["mnist-mlp", "digits-mlp"])
def test_the_perceptrons_begin_as_glorot_proposes(name: str) -> None:
    model = models.find(name)
    start = model.initial(0)
    for variable, at in model.layout:
        if variable.kind == "bias":
            assert not start[at].any()
        else:
            spread = np.sqrt(2 / sum(variable.shape))
            assert start[at].std() == pytest.approx(spread, rel=0.05)


def test_layouts_survive_json() -> None:
    for model in MODELS.values():
        assert Layout.read(model.layout.plain()) == model.layout


def test_an_unknown_name_is_told_what_was_meant() -> None:
    with pytest.raises(ValueError, match=r"'mnist-cn' is not mnist-cnn or .*mean 'mnist-cnn'\?"):
        models.find("mnist-cn")
    with pytest.raises(ValueError, match=r"digits-mlp$"):
        models.find("resnet")


def test_knowing_the_models_costs_no_tensorflow() -> None:
    code = "import sys, emulator.models; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
