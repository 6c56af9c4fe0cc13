"""Tasks: which data fit which model, and the shapes of what a model is given."""

from dataclasses import replace

import numpy as np
import pytest

from emulator.costs.calibration.worker_bench import noise
from emulator.learning.datasets import DATASETS
from emulator.learning.models import MODELS
from emulator.learning.models.task import Task

IMAGES = Task("images", (32, 32, 3), classes=10)
GREY = Task("images", (28, 28, 1), classes=10)
VECTORS = Task("vectors", (4,), classes=3)
PRICES = Task("vectors", (4,), targets=2)
TOKENS = Task("tokens", (20,), classes=2, vocabulary=5000)
TEXTS = Task("texts", (50,), classes=32)


@pytest.mark.parametrize(
    ("model", "data", "fits"),
    [
        (IMAGES, IMAGES, True),
        (IMAGES, replace(IMAGES, classes=7), True),
        (IMAGES, replace(IMAGES, classes=11), False),
        (IMAGES, replace(IMAGES, shape=(32, 3, 32)), False),
        (GREY, Task("images", (28, 28), classes=10), True),
        (VECTORS, PRICES, False),
        (PRICES, replace(PRICES, targets=1), False),
        (TOKENS, replace(TOKENS, vocabulary=80), True),
        (TOKENS, replace(TOKENS, vocabulary=5001), False),
        (replace(TOKENS, vocabulary=0), TOKENS, True),
        (TEXTS, TOKENS, False),
    ],
)
def test_a_model_takes_data_of_its_shape_with_at_most_its_classes(
    model: Task, data: Task, fits: bool
) -> None:
    assert model.takes(data) is fits


def test_the_shipped_models_take_the_data_of_their_own_task_alone() -> None:
    for model in MODELS.values():
        for data in DATASETS.values():
            assert model.task.takes(data.task) is (model.task == data.task)


@pytest.mark.parametrize("task", [IMAGES, GREY, VECTORS, PRICES, TOKENS, TEXTS], ids=str)
def test_a_batch_has_flat_inputs_and_the_labels_of_its_task(task: Task) -> None:
    examples = noise(task, batch_size=7)
    x, y = examples.batch(slice(7))
    assert (x.dtype, x.shape) == (np.float32, (7, task.values))
    assert y.dtype == (np.float32 if task.regression else np.int32)
    assert y.shape == (7, *task.answers)
    assert examples.answers == y[0].size * len(examples)
    if task.inputs == "images":
        assert 0 <= x.min() < 0.1 and 0.9 < x.max() <= 1
    if not task.regression:
        assert set(np.unique(examples.labels)) <= set(range(task.classes))


def test_token_ids_stay_exact_as_floats() -> None:
    examples = noise(replace(TOKENS, vocabulary=1 << 24), batch_size=7)
    x, _ = examples.batch(slice(None))
    assert (x.astype(np.int64) == examples.inputs).all()


@pytest.mark.parametrize("numbers", [{}, {"classes": 2, "targets": 1}])
def test_a_task_has_classes_or_targets(numbers: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="write one of them"):
        Task("vectors", (4,), **numbers)
