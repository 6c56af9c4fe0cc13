"""The shipped layer tables: equal to the networks' definitions, and to the known totals."""

from collections.abc import Callable

import pytest

from emulator.learning.models.layer_table import LayerTable
from tests.fakes.small_scenario import small
from tests.networks.architectures import googlenet, inception_v4, resnet_152, vgg_19
from tests.networks.files import NETWORKS, SHIPPED
from tests.networks.tracing import TracedLayer


def table(name: str) -> LayerTable:
    step = "virtual.step=1s"
    model = small(
        ("model: digits-mlp", f"model: {{layers: {name}}}"), overrides=(step,)
    ).training.model
    assert isinstance(model, LayerTable)
    return model


@pytest.mark.parametrize("name", SHIPPED)
def test_a_file_is_as_its_definition_makes_it(name: str) -> None:
    assert (NETWORKS / f"{name}.yaml").read_text() == SHIPPED[name].text()


def test_every_file_has_a_definition() -> None:
    assert {file.stem for file in NETWORKS.iterdir()} == SHIPPED.keys()


@pytest.mark.parametrize(
    ("trace", "layers", "parameters"),
    [
        (vgg_19, 19, 143_667_240),  # torchvision, models.vgg19
        # BVLC's Caffe model zoo, bvlc_googlenet: 6,990,272 weights and 8,280 biases
        (googlenet, 58, 6_998_552),
        (inception_v4, 150, 42_679_816),  # timm, inception_v4
        (resnet_152, 156, 60_192_808),  # torchvision, models.resnet152
    ],
)
def test_the_number_of_parameters_is_the_published_one(
    trace: Callable[[], list[TracedLayer]], layers: int, parameters: int
) -> None:
    traced = trace()
    assert len(traced) == layers
    assert sum(layer.parameters for layer in traced) == parameters


@pytest.mark.parametrize(
    ("trace", "billions", "source"),
    [
        (vgg_19, 19.63, "torchvision's table of models, GFLOPS of VGG19_Weights"),
        (
            googlenet,
            1.58,
            "bvlc_googlenet: 1.6 G, with 1.5 G as the budget in the paper, section 1",
        ),
        (inception_v4, 12.25, "timm's 12.28 G, which counts batch norm too"),
        (resnet_152, 11.3, "He et al. (2016), table 1: 11.3 · 10⁹"),
    ],
)
def test_the_multiply_adds_are_the_published_ones(
    trace: Callable[[], list[TracedLayer]], billions: float, source: str
) -> None:
    assert sum(layer.multiply_adds for layer in trace()) / 1e9 == pytest.approx(billions, rel=3e-3)


@pytest.mark.parametrize(
    ("trace", "millions"),
    # timm's tables of benchmarks, column infer_macts
    [(vgg_19, 14.86), (inception_v4, 15.09)],
)
def test_the_activations_are_the_published_ones(
    trace: Callable[[], list[TracedLayer]], millions: float
) -> None:
    assert sum(layer.activations for layer in trace()) / 1e6 == pytest.approx(millions, abs=5e-3)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_table_has_a_layout_of_one_variable_a_layer(name: str) -> None:
    layout, layers = table(name).layout, table(name).layers
    assert layout.size == sum(layer.parameters for layer in layers)
    assert [(part.start, part.stop) for part in layout.layers] == list(layout.bounds)
    assert [variable.kind for variable in layout.variables] == [layer.kind for layer in layers]
