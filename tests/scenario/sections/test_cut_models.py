"""`training.fully_connected`: where the cut lies, and every reason against one."""

import pytest

from emulator.core.plan import Cut
from emulator.runs.planning import plan
from emulator.scenario import Scenario, dump, loads
from tests.fakes.small_scenario import mistakes, small

CNN = ("dataset: digits\n  model: digits-mlp", "dataset: mnist\n  model: mnist-cnn")


def with_cut(section: str, algorithm: str = "algorithm: asgd") -> tuple[str, str]:
    return "algorithm: asgd", f"{algorithm}\n  fully_connected: {section}"


@pytest.mark.parametrize(
    ("section", "cut"),
    [
        ("{place: server}", Cut(2)),
        ("{place: {after: 1}, labels: local}", Cut(1, labels="local")),
        ("{place: {after: conv0}, values: f16}", Cut(1, values="f16")),
        ("{place: {after: dense2}}", Cut(3)),
    ],
)
def test_the_cut_lies_behind_a_layer_by_number_or_name(section: str, cut: Cut) -> None:
    scenario = small(CNN, with_cut(section))
    assert scenario.training.cut == cut
    assert plan(scenario, None).worker.cut == cut
    assert loads(dump(scenario)) == scenario


def test_the_devices_hold_the_layers_before_the_cut() -> None:
    training = small(CNN, with_cut("{place: server}")).training
    assert training.device_layout.size == 320 + 18_496
    assert training.layout.size == 421_642
    assert training.described == "asgd, cut behind conv1"


def test_without_the_key_devices_hold_the_whole_model() -> None:
    scenario = small(CNN)
    assert scenario.training.cut is None
    assert scenario.training.device_layout is scenario.training.layout
    assert "fully_connected" not in dump(scenario)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            "{place: sever}",
            "place: 'sever' (did you mean 'server'?) is not server or {after: LAYER}",
        ),
        ("{place: 3}", "place: 3 is not server or {after: LAYER}"),
        ("{place: }", "place: nothing is not server or {after: LAYER}"),
        ("{}", "fully_connected.place: is missing: place of the cut"),
        ("server", "scenario:6: training.fully_connected: 'server' is not a mapping"),
        ("{place: {}}", "place.after: is missing: last layer that devices hold"),
        ("{place: {after: [1]}}", "place.after: a list is no layer: write its number from 1 up"),
        ("{place: {after: true}}", "place.after: true is no layer: write its number from 1 up"),
        ("{place: {after: 0}}", "cannot be cut behind layer 0: take a layer from 1 to 3"),
        ("{place: {after: 4}}", "layer 4 is the last of mnist-cnn, so the server would hold"),
        ("{place: {after: conv7}}", "'conv7' is no layer: the layers are conv0, conv1, dense2"),
        ("{place: server, values: f61}", "values: 'f61' (did you mean 'f16'?) is not f32 or f16"),
        ("{place: server, labels: here}", "fully_connected.labels: 'here' is not sent or local"),
    ],
)
def test_a_cut_that_is_none_is_refused(section: str, message: str) -> None:
    assert any(message in line for line in mistakes(CNN, with_cut(section)))


def test_a_perceptron_has_nothing_before_its_first_dense_layer() -> None:
    (mistake,) = mistakes(with_cut("{place: server}"))
    assert "digits-mlp begins with a dense layer, so devices would hold nothing" in mistake
    assert small(with_cut("{place: {after: 1}}")).training.cut == Cut(1)


def test_a_model_of_one_layer_cannot_be_cut() -> None:
    (mistake,) = mistakes(("digits-mlp", "digits-softmax"), with_cut("{place: {after: 1}}"))
    assert mistake.endswith("digits-softmax cannot be cut: it has a single layer")


def test_a_layer_table_cannot_be_cut() -> None:
    table = ("digits-mlp", "{layers: vgg-19}")
    step = ("stop:", "virtual: {step: 1s}\nstop:")
    (mistake,) = mistakes(table, step, with_cut("{place: {after: 1}}"))
    assert "fully_connected.place: the model is a layer table" in mistake


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("algorithm: fedavg", "in a round of 'fedavg' a device trains alone, and a cut model"),
        ("algorithm: local-sgd", "in a round of 'local-sgd' a device trains alone"),
        ("algorithm: softsync", "'softsync' makes a step of the next updates of any devices"),
        ("algorithm: asgd\n  schedule: sequential", "training.schedule: does not go with fully_"),
        ("algorithm: asgd\n  schedule: dynacomm", "training.schedule: does not go with fully_"),
        ("codec: {kind: topk, keep: 1%, scope: global}", "'topk' needs the gradient of all layers"),
        ("codec: {kind: dgc, clip: 1}", "'dgc' needs the gradient of all layers, and a device"),
    ],
)
def test_training_that_needs_the_whole_model_is_refused(algorithm: str, message: str) -> None:
    (mistake,) = mistakes(CNN, with_cut("{place: server}", algorithm))
    assert message in mistake


@pytest.mark.parametrize("algorithm", ["adacomp-ef", "bsp", "ssp", "qsgd", "dgc", "signsgd"])
def test_other_algorithms_train_cut_models(algorithm: str) -> None:
    scenario = small(CNN, with_cut("{place: server}", f"algorithm: {algorithm}"))
    assert isinstance(scenario, Scenario)


def test_all_mistakes_around_a_cut_are_told_at_once() -> None:
    algorithm = "codec: {kind: dgc, clip: 1}\n  synchronization: softsync\n  schedule: ibatch"
    lines = mistakes(CNN, with_cut("{place: {after: 9}, labels: no}", algorithm))
    places = sorted(line.split(": ")[1].removeprefix("training.") for line in lines)
    assert places == [
        *("codec", "fully_connected.labels", "fully_connected.place"),
        *("schedule", "schedule", "synchronization"),
    ]
