"""Models cut between a device and the server, against the gradient of the whole graph."""

from collections.abc import Iterator

import numpy as np
import pytest

from emulator import models
from emulator.learners.device_graph import DeviceGraph
from emulator.learners.export import exported
from emulator.learners.graph import GraphLearner
from emulator.learners.server_graph import ServerGraph
from emulator.models import MODELS
from tests.learners.test_layers_apart import batch

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module", params=MODELS)
def whole(request: pytest.FixtureRequest) -> Iterator[tuple[str, GraphLearner]]:
    learner = GraphLearner(exported(request.param))
    yield request.param, learner
    learner.close()


def test_both_parts_give_the_whole_gradient_to_the_bit(whole: tuple[str, GraphLearner]) -> None:
    """For every model and every cut, with batches of different sizes for one server."""
    name, learner = whole
    model, folder = models.find(name), exported(name)
    for cut in range(1, len(model.layout.layers)):
        device, server = DeviceGraph(folder, cut), ServerGraph(folder, cut)
        for seed, rows in enumerate((10, 1, 32)):
            theta, (x, y) = model.initial(seed), batch(model, rows, seed)
            expected, loss = learner.gradient(theta, x, y)
            before, behind = np.split(theta, [device.layout.size])
            activations, kept = device.forward(before, x)
            assert activations.size == rows * model.crossing(cut)
            answer = server.slopes(behind, activations, rows, y.ravel())
            gradient = device.backward(kept, answer.activations)
            assert np.array_equal(np.concatenate([gradient, answer.parameters]), expected)
            assert answer.loss == loss
            assert np.array_equal(device.gradient(before, x, answer.activations), gradient)

            logits = server.logits(behind, activations, rows)
            at_device, slopes = device.loss(logits, y)
            local = server.slopes_of(behind, activations, rows, slopes)
            assert at_device == loss
            assert np.array_equal(local[0], answer.activations)
            assert np.array_equal(local[1], answer.parameters)
        device.close()
        server.close()
