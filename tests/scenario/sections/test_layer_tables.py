"""Layer tables in a scenario: by name, by path, written out, and the messages for mistakes."""

import re
from pathlib import Path

import pytest

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.learning.models.layer_table import LayerTable, TableLayer
from emulator.scenario import Scenario, dump, load, loads, overview
from emulator.scenario.sections.virtual_section import shares_by_counts
from tests.fakes.small_scenario import SMALL, in_folder, mistakes, small

ROW = "{name: a, kind: conv, parameters: 2, activations: 1, multiply_adds: 3}"
OTHER = "{name: b, kind: dense, parameters: 5, activations: 4, multiply_adds: 1}"
MODEL = "model: digits-mlp"
TABLE = LayerTable(
    name="mine", layers=(TableLayer("a", "conv", 2, 1, 3), TableLayer("b", "dense", 5, 4, 1))
)


def tabled(model: str, virtual: str = "{step: 1s}", *, folder: Path, table: str = "") -> Scenario:
    text = SMALL.replace(MODEL, f"model: {model}") + f"virtual: {virtual}\n"
    return load(in_folder(folder, {"own.yaml": text, "profiles/networks/mine.yaml": table}))


@pytest.mark.parametrize("model", ["{layers: mine}", "{layers: profiles/networks/mine.yaml}"])
def test_a_table_of_ones_own_is_found_by_name_and_by_path(model: str, tmp_path: Path) -> None:
    table = f"description: Mine.\nlayers: [{ROW}, {OTHER}]"
    scenario = tabled(model, folder=tmp_path, table=table)
    assert scenario.training.model == TABLE
    assert scenario.training.model_name == overview(scenario).training.model_name == "mine"
    assert loads(dump(scenario), folder="/") == scenario
    assert overview(scenario).plain()["training"]["model"]["layers"][1]["parameters"] == 5


def test_keys_beside_the_name_of_a_table_keep_their_values(tmp_path: Path) -> None:
    table = f"layers: [{ROW}, {OTHER}]\ninput: [3]"
    model = tabled("{layers: mine, name: ours}", folder=tmp_path, table=table).training.model
    assert model == LayerTable(name="ours", layers=TABLE.layers, input=(3,))


def test_an_override_reaches_into_a_table_that_is_named() -> None:
    changes = ("training.model.layers[0].parameters=7", "virtual.step=1s")
    model = small((MODEL, "model: {layers: vgg-19}"), overrides=changes).training.model
    assert isinstance(model, LayerTable)
    assert [layer.parameters for layer in model.layers[:2]] == [7, 36928]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("{}", "4: training.model.layers: is missing: name of a layer table, or the path of its"),
        (
            "{layers: vgg-20}",
            "4: training.model.layers: 'vgg-20' is no layer table (did you mean '",
        ),
        (
            "{layers: ./no.yaml}",
            "4: training.model.layers: './no.yaml' is no layer table: there is",
        ),
        ("{layers: 3}", "4: training.model.layers: 3 is not a list"),
        ("{layer: vgg-19}", "4: training.model.layer: no such key (did you mean 'layers'?)"),
        ("{layers: vgg-19, a: 1}", "4: training.model.a: no such key: there are layers"),
        (
            "mnist-cn",
            "4: training.model: 'mnist-cn' (did you mean 'mnist-cnn'?) is not mnist-cnn or",
        ),
        ("3", "4: training.model: 3 is not text"),
    ],
)
def test_a_wrong_model_is_named_with_its_place(model: str, message: str) -> None:
    assert any(re.search(re.escape(message), line) for line in mistakes((MODEL, f"model: {model}")))


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ("- 3", ["1: a layer table is a mapping"]),
        ("layers: []", ["1: layers is empty: name at least one layer"]),
        ("source: me", ["1: layers: is missing: name of a layer table, or the path of its file"]),
        (
            "layers:\n"
            "  - {name: a, kind: conv, parameters: 0, activations: 1, multiply_adds: 3}\n"
            "  - {name: a, kind: cnv, parameters: 1.5, activation: 1, multiply_adds: 0}\n",
            [
                "2: layers[0].parameters: 0 is too small: write a whole number from 1 up",
                "3: layers[1].name: 'a' is the name of layers[0] too: choose another name",
                "3: layers[1].kind: 'cnv' (did you mean 'conv'?) is not conv or dense or recurrent",
                "3: layers[1].parameters: 1.5 is not a whole number",
                "3: layers[1].activation: no such key (did you mean 'activations'?)",
                "3: layers[1].activations: is missing: number of outputs for one example",
            ],
        ),
        (
            "layers:\n"
            "  - {name: '', kind: conv, parameters: 0, activations: 1, multiply_adds: 3}\n"
            "  - {name: ' ', kind: conv, parameters: 1, activations: 1, multiply_adds: 3}\n",
            [
                "2: layers[0].name: the name '' is empty: write for example conv1_1",
                "2: layers[0].parameters: 0 is too small: write a whole number from 1 up",
                "3: layers[1].name: the name ' ' is empty: write for example conv1_1",
            ],
        ),
        (
            f"layers: [{ROW}, {ROW}]",
            ["1: layers[1]: 'a' is the name of layers[0] too: choose another name"],
        ),
        (
            "layers:\n  - {name: a, kind: cnv, parameters: 0, activations: -1, multiply_adds: 0}\n",
            [
                "1: layers: no layer has multiply_adds, so no layer would take time",
                "2: layers[0].kind: 'cnv' (did you mean 'conv'?) is not conv or dense or recurrent",
                "2: layers[0].parameters: 0 is too small: write a whole number from 1 up",
                "2: layers[0].activations: -1 is too small: write a whole number from 1 up",
            ],
        ),
        (
            f"layers: [{ROW.replace('parameters: 2', 'parameters: 1000000000')}, {OTHER}]",
            [
                "1: the layers have 1,000,000,005 parameters, and 1,000,000,000 at most fit into "
                "memory"
            ],
        ),
        (
            f"layers: [{ROW.replace('multiply_adds: 3', 'multiply_adds: 0')}]",
            ["1: no layer has multiply_adds, so no layer would take time"],
        ),
    ],
)
def test_the_mistakes_of_a_table_are_told_at_once(
    table: str, messages: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as error:
        tabled("{layers: mine}", folder=tmp_path, table=table)
    lines = str(error.value).splitlines()
    file = tmp_path / "profiles" / "networks" / "mine.yaml"
    assert sorted(lines) == sorted(f"{file}:{message}" for message in messages)


@pytest.mark.parametrize(
    ("on", "virtual", "message"),
    [
        ("docker", "{learner: none, step: 1s}", "'mine' is a layer table, which cannot be trained"),
        ("virtual", "{step: 1s}", "only virtual.learner: none plays it"),
    ],
)
def test_a_table_is_refused_where_it_would_have_to_train(
    on: str, virtual: str, message: str, tmp_path: Path
) -> None:
    scenario = tabled("{layers: mine}", virtual, folder=tmp_path, table=f"layers: [{ROW}]")
    (error,) = preflight(scenario, on).refusals
    assert message in str(error)


def test_a_table_that_only_traffic_is_played_of_needs_no_calibration(tmp_path: Path) -> None:
    virtual, table = "{learner: none, step: 1s}", f"layers: [{ROW}]"
    scenario = tabled("{layers: mine}", virtual, folder=tmp_path, table=table)
    assert preflight(scenario, "virtual").refusals == ()


def test_shares_go_by_multiply_adds_twice_as_much_backward() -> None:
    forward, backward = shares_by_counts(TABLE).parts
    assert forward == pytest.approx((3 / 12, 1 / 12))
    assert backward == pytest.approx((6 / 12, 2 / 12))


@pytest.mark.parametrize("virtual", ["{learner: none}", "{learner: none, step: }", "{}"])
def test_a_table_without_a_step_is_a_mistake_with_its_line(virtual: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as error:
        tabled("{layers: mine}", virtual, folder=tmp_path, table=f"layers: [{ROW}]")
    start = f"{tmp_path / 'own.yaml'}:10: virtual.step: is missing: 'mine' is a layer table"
    assert str(error.value).startswith(start)


def test_shares_of_another_number_of_layers_are_a_mistake(tmp_path: Path) -> None:
    virtual = "{learner: none, step: 1s, layers: {forward: [1], backward: [1]}}"
    with pytest.raises(ScenarioError, match="1 layer, and 'mine' has 2"):
        tabled("{layers: mine}", virtual, folder=tmp_path, table=f"layers: [{ROW}, {OTHER}]")
