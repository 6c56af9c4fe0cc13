"""The arithmetic of the study of one core; the measuring itself is `make figure-single-node`."""

from pathlib import Path

import numpy as np
import pytest

from emulator.learning.models import MODELS
from tests.analysis.drawn_figures import kept, labelled
from tests.benchmarks import single_node


def test_a_lowered_convolution_is_the_sum_over_each_window() -> None:
    layer = single_node.Convolution("small", 7, 3, 2, 4, stride=2)
    dice = np.random.default_rng(0)
    x = dice.standard_normal((2, 7, 7, 2), np.float32)
    kernels = dice.standard_normal((layer.inputs, 4), np.float32)
    found = single_node.forward(layer, 2)().reshape(2, 3, 3, 4)
    for row in range(3):
        for column in range(3):
            window = x[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3].reshape(2, -1)
            assert found[:, row, column] == pytest.approx(window @ kernels, abs=1e-4)


def test_the_layers_are_those_of_the_models() -> None:
    for layer in single_node.LAYERS:
        model = MODELS.get(layer.name.partition(" ")[0])
        if model is not None:
            sizes = (layer.kernel, layer.kernel, layer.channels, layer.filters)
            assert sizes in [variable.shape for variable in model.layout.variables]


def test_the_table_names_the_gain_of_the_best_number() -> None:
    made = single_node.table({"conv": {1: 1000.0, 2: 1500.0, 4: 1400.0}})
    assert made.splitlines()[-1] == "| conv | 1,000 | 1,500 | 2 | 1.50 × | 4 | 1.40 × |"


@pytest.mark.parametrize(("most", "verdict"), [(6.0, "reproduced"), (5.0, "not")])
def test_the_claim_is_judged_by_convolutions_at_their_best(most: float, verdict: str) -> None:
    found = {"conv0": {1: 1.0, 2: most, 4: 3.0}, "fc6": {1: 1.0, 2: 9.0}}
    (claim,) = single_node.claims(found)
    assert (claim.verdict, claim.measured) == (verdict, f"{most:.2f} × (conv0)")


def test_a_figure_has_the_gains_of_each_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = kept(monkeypatch)
    single_node.draw(
        {"conv": {1: 2.0, 2: 3.0}, "net gradient": {1: 1.0, 2: 3.0}}, tmp_path / "f.png"
    )
    (panel,) = figures["f.png"].axes
    lines = labelled(panel)
    assert list(lines) == ["conv", "net gradient"]
    assert [list(line.get_ydata()) for line in lines.values()] == [[1, 1.5], [1, 3]]
    assert panel.get_ylabel() == "Throughput over one image at a time"
