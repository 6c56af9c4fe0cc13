"""Models cut between a device and the server, against the gradient of the whole graph."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from emulator.learning import models
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.device import DeviceLearner, server_part, staged_learner
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphLearner
from emulator.learning.learners.staged_graph import ServerGraph, StagedGraph
from emulator.learning.learners.stages import Crossing, CrossingTensor, read
from emulator.learning.models import MODELS
from tests.learning.learners.layered_models import DIGITS, KNOTTED, batch, examples

CUT = 2


@pytest.fixture(params=MODELS)
def whole(request: pytest.FixtureRequest) -> Iterator[tuple[str, GraphLearner]]:
    learner = GraphLearner(exported(request.param))
    yield request.param, learner
    learner.close()


@pytest.fixture
def digits() -> Iterator[tuple[StagedGraph, ServerGraph]]:
    device, server = (
        StagedGraph(exported("digits-mlp"), CUT),
        ServerGraph(exported("digits-mlp"), CUT),
    )
    yield device, server
    device.close()
    server.close()


@pytest.mark.tensorflow
def test_both_parts_give_the_whole_gradient_to_the_bit(whole: tuple[str, GraphLearner]) -> None:
    """For every model and every cut, with batches of different sizes for one server."""
    name, learner = whole
    model, folder = models.find(name), exported(name)
    for cut in range(1, len(model.layout.layers)):
        device, server = StagedGraph(folder, cut), ServerGraph(folder, cut)
        for seed, rows in enumerate((10, 1, 32)):
            theta, (x, y) = model.initial(seed), batch(model, rows, seed)
            expected, loss = learner.gradient(theta, x, y)
            before, behind = np.split(theta, [device.layout.size])
            device.begin(x, y)
            activations = device.forward(1, before)
            answer = server.slopes(behind, activations, rows, y.ravel())
            gradient = device.backward(1, answer.activations)
            assert np.array_equal(np.concatenate([gradient, answer.parameters]), expected)
            assert answer.loss == loss
            device.begin(x, y)
            assert np.array_equal(device.forward(1, before), activations)
            assert np.array_equal(device.backward(1, answer.activations), gradient)

            logits = server.logits(behind, activations, rows)
            at_device, slopes = device.loss_at(logits)
            local = server.slopes_of(behind, activations, rows, slopes)
            assert at_device == loss
            assert np.array_equal(local[0], answer.activations)
            assert np.array_equal(local[1], answer.parameters)
        device.close()
        server.close()


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", MODELS)
def test_as_many_floats_cross_as_the_model_declares(name: str) -> None:
    model, folder = models.find(name), exported(name)
    for cut in range(1, len(model.layout.layers)):
        assert read(folder).cut(cut).size == model.crossing(cut)
    for cut in (0, len(model.layout.layers)):
        with pytest.raises(ValueError, match=f"from 1 to {len(model.layout.layers) - 1}"):
            StagedGraph(folder, cut)


@pytest.mark.tensorflow
def test_a_model_is_not_cut_where_both_parts_would_read_the_same_parameters(tmp_path: Path) -> None:
    """The third layer of `KNOTTED` reads the weights of the first layer."""
    from emulator.learning.learners.tensorflow.graph_export import export
    from emulator.learning.learners.tensorflow.networks import zoo_network

    export(zoo_network(KNOTTED), tmp_path)
    for cut in (1, 2):
        for part in (StagedGraph, ServerGraph):
            with pytest.raises(ValueError, match=f"no cut behind layer {cut}: Reshape:0 would"):
                part(tmp_path, cut)
    device, server, whole = (
        StagedGraph(tmp_path, 3),
        ServerGraph(tmp_path, 3),
        GraphLearner(tmp_path),
    )
    theta, (x, y) = KNOTTED.initial(0), batch(KNOTTED, 10)
    before, behind = np.split(theta, [device.layout.size])
    device.begin(x, y)
    activations = device.forward(1, before)
    answer = server.slopes(behind, activations, 10, y)
    gradient = np.concatenate([device.backward(1, answer.activations), answer.parameters])
    expected, loss = whole.gradient(theta, x, y)
    assert answer.loss == loss
    assert np.linalg.norm(gradient - expected) <= 1e-6 * np.linalg.norm(expected)
    for graph in (device, server, whole):
        graph.close()


@pytest.mark.tensorflow
def test_an_iteration_may_go_on_in_another_graph(digits: tuple[StagedGraph, ServerGraph]) -> None:
    """As in virtual time, where threads share the iterations of all devices."""
    (device, server), other = digits, StagedGraph(exported("digits-mlp"), CUT)
    begun, expected = [], []
    for seed in range(4):
        theta, (x, y) = DIGITS.initial(seed), batch(DIGITS, 5 + seed, seed)
        before, behind = np.split(theta, [device.layout.size])
        device.begin(x, y)
        activations = device.forward(1, before)
        slopes = server.slopes(behind, activations, len(x), y).activations
        begun.append((x, y, before, slopes))
        expected.append(device.backward(1, slopes))
    for (x, y, before, slopes), gradient in zip(begun[::-1], expected[::-1], strict=True):
        other.begin(x, y)
        other.forward(1, before.copy())
        assert np.array_equal(other.backward(1, slopes), gradient)
    other.close()


@pytest.mark.tensorflow
def test_results_outlive_the_next_pass(digits: tuple[StagedGraph, ServerGraph]) -> None:
    device, server = digits
    results = []
    for seed in range(6):
        theta, (x, y) = DIGITS.initial(seed), batch(DIGITS, 10, seed)
        before, behind = np.split(theta, [device.layout.size])
        device.begin(x, y)
        activations = device.forward(1, before)
        answer = server.slopes(behind, activations, 10, y)
        logits = server.logits(behind, activations, 10)
        gradient = device.backward(1, answer.activations)
        found = [activations, answer.activations, answer.parameters, logits, gradient]
        results.append((found, [item.copy() for item in found]))
    for found, copies in results:
        assert all(map(np.array_equal, found, copies))


@pytest.mark.tensorflow
def test_wrong_sizes_and_labels_are_refused(digits: tuple[StagedGraph, ServerGraph]) -> None:
    device, server = digits
    theta, (x, y) = DIGITS.initial(0), batch(DIGITS, 10)
    before, behind = np.split(theta, [device.layout.size])
    device.begin(x, y)
    with pytest.raises(ValueError, match="16576 parameters"):
        device.forward(1, theta)
    activations = device.forward(1, before)
    for wrong in (activations[1:], None):
        with pytest.raises(ValueError, match="640 floats"):
            device.backward(1, wrong)
    with pytest.raises(ValueError, match="100 floats"):
        device.loss_at(activations)
    with pytest.raises(ValueError, match="650 parameters"):
        server.slopes(theta, activations, 10, y)
    for rows in (0, 9, 11, -10):
        with pytest.raises(ValueError, match="floats"):
            server.slopes(behind, activations, rows, y)
    with pytest.raises(ValueError, match="10 labels, not 9"):
        server.slopes(behind, activations, 10, y[1:])
    for label in (-1, 10):
        with pytest.raises(ValueError, match="not from 0 to 9"):
            server.slopes(behind, activations, 10, np.append(y[1:], np.int32(label)))
    with pytest.raises(ValueError, match="100 floats"):
        server.slopes_of(behind, activations, 10, activations)
    assert np.isfinite(server.slopes(behind, activations, 10, y).loss)


@pytest.mark.tensorflow
def test_a_device_draws_the_batches_of_a_whole_learner() -> None:
    folder, theta = exported("digits-mlp"), DIGITS.initial(0)
    lone = DeviceLearner(folder, Batches(examples(DIGITS, 45), 10, "a"))
    device = staged_learner(folder, Batches(examples(DIGITS, 45), 10, "a"), CUT)
    server = server_part(folder, CUT)
    before, behind = np.split(theta, [DIGITS.layout.part((1, CUT)).size])
    for number in range(12):
        expected, loss = lone.gradient(theta)
        sent = device.activate(before)
        answer = server.slopes(behind, sent.activations, sent.rows, sent.labels)
        if number % 4 == 3:
            continue  # an abandoned iteration
        gradient = device.backward_from(answer.activations)
        assert np.array_equal(np.concatenate([gradient, answer.parameters]), expected)
        assert answer.loss == loss


@pytest.mark.tensorflow
def test_abandoned_iterations_leave_no_memory_behind() -> None:
    model, folder = models.find("mnist-cnn"), exported("mnist-cnn")
    learner = staged_learner(folder, Batches(examples(model, 64), 64, "a"), CUT)
    server = server_part(folder, CUT)
    before, behind = np.split(model.initial(0), [model.layout.part((1, CUT)).size])

    def private() -> int:
        with open("/proc/self/smaps_rollup") as lines:
            rows = dict(line.split()[:2] for line in lines if line.startswith("Private"))
        return sum(map(int, rows.values()))

    def abandon(times: int) -> int:
        for _ in range(times):
            sent = learner.activate(before)
            server.slopes(behind, sent.activations, sent.rows, sent.labels)
        return private()

    few = abandon(5)
    assert abandon(30) < few + 30 * 1024  # KiB; the activations of one take 13 MiB


def test_tensors_cross_one_behind_the_other() -> None:
    """The second tensor has its examples in the second dimension."""
    crossing = Crossing(
        (CrossingTensor("a:0", (-1, 2), 2, "b:0"), CrossingTensor("c:0", (3, -1), 3, "d:0"))
    )
    first, second = crossing.arrays(np.arange(20, dtype=np.float32), 4)
    assert first.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert second.tolist() == [[8, 9, 10, 11], [12, 13, 14, 15], [16, 17, 18, 19]]
    assert Crossing.read(crossing.plain()) == crossing and crossing.size == 5
