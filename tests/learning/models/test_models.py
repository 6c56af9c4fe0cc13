import math
import subprocess
import sys
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from emulator.layout import Layout
from emulator.learning import models
from emulator.learning.datasets import DATASETS
from emulator.learning.models import MODELS
from tests.learning.models.model_sizes import KINDS, SIZES


@pytest.mark.parametrize("name", MODELS)
def test_has_as_many_parameters_as_the_papers_say(name: str) -> None:
    layout = models.find(name).layout
    assert (layout.size, len(layout.variables)) == SIZES[name]


@pytest.mark.parametrize("name", MODELS)
def test_counts_layers_from_the_input_each_with_its_bias(name: str) -> None:
    variables = models.find(name).layout.variables
    layers = [[*group] for _, group in groupby(variables, key=lambda variable: variable.layer)]
    assert [layer[0].layer for layer in layers] == list(range(len(layers)))
    for layer, kind in zip(layers, KINDS[name], strict=True):
        *weights, bias = layer
        assert {item.kind for item in weights} == {kind} and bias.kind == "bias"
        assert {item.shape[-1] for item in weights} == {*bias.shape}
    assert len({v.name for v in variables}) == len(variables)


def test_the_cnn_is_the_one_that_adacomp_was_tried_on() -> None:
    shapes = [v.shape for v in models.find("mnist-cnn").layout.variables]
    assert shapes[::2] == [(3, 3, 1, 32), (3, 3, 32, 64), (3136, 128), (128, 10)]


def test_lenet_is_the_one_that_residual_compression_was_tried_on() -> None:
    shapes = [v.shape for v in models.find("mnist-lenet").layout.variables]
    assert shapes[::2] == [(5, 5, 1, 20), (5, 5, 20, 50), (800, 500), (500, 10)]


def test_vgg_doubles_its_filters_at_each_pooling() -> None:
    shapes = [v.shape for v in models.find("mnist-vgg").layout.variables if v.kind == "conv"]
    assert all(shape[:2] == (3, 3) for shape in shapes)
    assert [shape[3] for shape in shapes] == [16, 16, 32, 32, 64, 64, 64, 128, 128]


def test_the_residual_network_has_three_groups_of_three_blocks() -> None:
    shapes = [v.shape for v in models.find("mnist-resnet").layout.variables if v.kind == "conv"]
    assert [shape[3] for shape in shapes] == [16] * 7 + [32] * 6 + [64] * 6


def test_the_lstm_is_as_char_rnn_has_it() -> None:
    model = models.find("char-lstm")
    shapes = {v.name: v.shape for v in model.layout.variables if v.kind != "bias"}
    assert shapes == {
        "lstm0/weights": (32, 512),
        "lstm0/recurrent": (128, 512),
        "lstm1/weights": (128, 512),
        "lstm1/recurrent": (128, 512),
        "dense2/weights": (128, 32),
    }


@pytest.mark.parametrize("name", MODELS)
def test_some_data_set_is_for_it(name: str) -> None:
    assert models.find(name).task in [data.task for data in DATASETS.values()]


@pytest.mark.parametrize("name", MODELS)
def test_begins_alike_with_the_same_seed_only(name: str) -> None:
    model = models.find(name)
    first = model.initial(7)
    assert first.dtype == np.float32 and first.shape == (model.layout.size,)
    assert np.array_equal(first, model.initial(7))
    # a convex model begins at zero with every seed
    assert np.array_equal(first, model.initial(8)) == name.endswith("softmax")


@pytest.mark.parametrize("name", ["mnist-softmax", "digits-softmax"])
def test_convex_ones_begin_at_zero(name: str) -> None:
    assert not models.find(name).initial(7).any()


def test_the_cnn_begins_with_truncated_normals_and_biases_of_a_tenth() -> None:
    model = models.find("mnist-cnn")
    start = model.initial(0)
    weights = np.concatenate([start[at] for v, at in model.layout if v.kind != "bias"])
    biases = np.concatenate([start[at] for v, at in model.layout if v.kind == "bias"])
    assert np.all(biases == np.float32(0.1))
    assert np.abs(weights).max() <= np.float32(0.2)
    assert weights.std() == pytest.approx(0.0880, rel=0.01)  # 0.8796 σ, once cut at 2 σ
    assert abs(weights.mean()) < 0.001


@pytest.mark.parametrize("name", ["mnist-mlp", "digits-mlp", "mnist-lenet"])
def test_others_begin_as_glorot_proposes(name: str) -> None:
    model = models.find(name)
    start = model.initial(0)
    for variable, at in model.layout:
        if variable.kind == "bias":
            assert not start[at].any()
        else:
            *window, inputs, outputs = variable.shape
            spread = np.sqrt(2 / (inputs + outputs) / math.prod(window))
            assert start[at].std() == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("name", ["mnist-vgg", "mnist-resnet", "shapes-resnet"])
def test_deep_ones_begin_as_he_proposes(name: str) -> None:
    """And the ends of nine residual blocks with a third of it."""
    model = models.find(name)
    start = model.initial(0)
    for variable, at in model.layout:
        if variable.kind == "bias":
            assert not start[at].any()
        else:
            ends_block = name != "mnist-vgg" and variable.layer in range(2, 19, 2)
            spread = np.sqrt(2 / math.prod(variable.shape[:-1])) / (3 if ends_block else 1)
            assert start[at].std() == pytest.approx(spread, rel=0.1)  # the first one has 144


def test_the_lstm_begins_with_glorots_weights_in_each_gate_and_forgets_nothing() -> None:
    model = models.find("char-lstm")
    start = {v.name: model.initial(0)[at].reshape(v.shape) for v, at in model.layout}
    for name, inputs in (("lstm0/weights", 32), ("lstm1/recurrent", 128)):
        for gate in np.split(start[name], 4, axis=1):
            assert gate.std() == pytest.approx(np.sqrt(2 / (inputs + 128)), rel=0.05)
    for layer in (0, 1):
        gates = np.split(start[f"lstm{layer}/bias"], 4)
        assert [float(gate.mean()) for gate in gates] == [0, 1, 0, 0]
        assert [float(gate.std()) for gate in gates] == [0, 0, 0, 0]
    assert not start["dense2/bias"].any()


def test_layouts_survive_json() -> None:
    for model in MODELS.values():
        assert Layout.read(model.layout.plain()) == model.layout


def test_an_unknown_name_is_told_what_was_meant() -> None:
    with pytest.raises(
        ValueError, match=r"'mnist-cn' .did you mean 'mnist-cnn'\?. is not mnist-cnn or"
    ):
        models.find("mnist-cn")
    with pytest.raises(ValueError, match=r"char-lstm$"):
        models.find("transformer")


def test_knowing_the_models_costs_no_tensorflow() -> None:
    code = "import sys, emulator.learning.models; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


BEFORE_DENSE = {
    "mnist-cnn": (2, 7 * 7 * 64),
    "mnist-lenet": (2, 4 * 4 * 50),
    "mnist-vgg": (9, 2 * 2 * 128),
    "mnist-resnet": (19, 7 * 7 * 64),
    "shapes-resnet": (19, 8 * 8 * 64),
    "char-lstm": (2, 50 * 128),
}


@pytest.mark.parametrize("name", MODELS)
def test_layers_before_the_first_dense_one_may_stay_on_devices(name: str) -> None:
    model = models.find(name)
    if name in BEFORE_DENSE:
        cut, floats = BEFORE_DENSE[name]
        assert model.before_dense() == cut and model.crossing(cut) == floats
    else:
        with pytest.raises(ValueError, match=f"{name} begins with a dense layer"):
            model.before_dense()


@pytest.mark.parametrize("name", MODELS)
def test_each_layer_but_the_last_may_be_the_last_on_devices(name: str) -> None:
    model = models.find(name)
    last = len(model.layout.layers)
    assert all(model.crossing(layer) > 0 for layer in range(1, last))
    for layer in (0, last):
        reason = f"from 1 to {last - 1}" if last > 1 else f"{name} .* a single layer"
        with pytest.raises(ValueError, match=reason):
            model.crossing(layer)
    if last == 1:
        return
    with pytest.raises(ValueError, match="not declared"):
        replace(model, crossings=()).crossing(1)
    if name == "mnist-vgg":
        convolutions = Layout(model.layout.variables[:4])
        with pytest.raises(ValueError, match="no dense layer"):
            replace(model, layout=convolutions).before_dense()
