"""The task of a Keras model follows the input to the embeddings that the input reaches."""

from collections.abc import Callable
from typing import Any

import pytest

from emulator.learning.models.task import Task

pytestmark = pytest.mark.tensorflow


def positions_inside(keras: Any) -> tuple[Any, Any]:
    """keras-io's usual transformer: a layer with embeddings of token ids and of positions."""
    from keras import layers, ops

    class TokensAndPositions(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = layers.Embedding(500, 8, mask_zero=True)
            self.places = layers.Embedding(40, 8)

        def call(self, x: Any) -> Any:
            return self.places(ops.arange(0, ops.shape(x)[-1])) + self.words(x)

    given = keras.Input((40,))
    return given, TokensAndPositions()(given)


def positions_first(keras: Any) -> tuple[Any, Any]:
    from keras import layers, ops

    given = keras.Input((40,), dtype="int32")
    places = layers.Embedding(40, 8)(ops.zeros_like(given) + ops.arange(40))
    return given, places + layers.Embedding(500, 8)(given)


def smaller_of_two(keras: Any) -> tuple[Any, Any]:
    from keras import layers

    given = keras.Input((40,))
    return given, layers.Embedding(700, 8)(given) + layers.Embedding(500, 8)(given)


def masked_by_hand(keras: Any) -> tuple[Any, Any]:
    from keras import layers, ops

    given = keras.Input((40,), dtype="int32")
    mask = ops.expand_dims(ops.cast(ops.not_equal(given, 0), "float32"), -1)
    return given, layers.Embedding(500, 8)(given) * mask


def in_a_traced_function(keras: Any) -> tuple[Any, Any]:
    import tensorflow as tf
    from keras import layers

    class Traced(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = layers.Embedding(500, 8)

        @tf.function  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return self.words(x)

    given = keras.Input((40,))
    return given, Traced()(given)


def by_one_hot(keras: Any) -> tuple[Any, Any]:
    from keras import layers, ops

    given = keras.Input((40,), dtype="int32")
    return given, layers.Dense(8)(ops.one_hot(given, 500))


def by_take(keras: Any) -> tuple[Any, Any]:
    from keras import layers, ops

    class Own(layers.Layer):  # type: ignore[misc]
        def build(self, shape: Any) -> None:
            self.table = self.add_weight(shape=(8, 500))

        def call(self, x: Any) -> Any:
            return ops.transpose(ops.take(self.table, ops.cast(x, "int32"), axis=1), (1, 2, 0))

    given = keras.Input((40,))
    return given, Own()(given)


def columns_of_a_table(keras: Any) -> tuple[Any, Any]:
    """Six numbers, of which the first is a category with an embedding."""
    from keras import layers, ops

    given = keras.Input((6,))
    town = layers.Embedding(12, 4)(ops.cast(given[:, 0], "int32"))
    return given, ops.expand_dims(ops.concatenate([town, given[:, 1:]], axis=-1), 1)


def categories_alone(keras: Any) -> tuple[Any, Any]:
    from keras import layers, ops

    given = keras.Input((2,), dtype="int32")
    both = [layers.Embedding(size, 4)(given[:, at]) for at, size in enumerate((7, 30))]
    return given, ops.stack(both, axis=1)


def buckets(keras: Any) -> tuple[Any, Any]:
    """Real numbers, whose buckets are looked up."""
    from keras import layers

    given = keras.Input((6,))
    return given, layers.Embedding(4, 8)(layers.Discretization([0.0, 1.0, 2.0])(given))


def unrelated(keras: Any) -> tuple[Any, Any]:
    """Numbers, beside an embedding that the input does not reach."""
    from keras import layers, ops

    given = keras.Input((6,))
    place = layers.Embedding(40, 8)(ops.zeros_like(given[:, :1], dtype="int32"))
    return given, layers.Dense(8)(ops.expand_dims(given, 1)) + place


def whole_numbers(keras: Any) -> tuple[Any, Any]:
    """Token ids of which only the remainder is looked up: any vocabulary fits."""
    from keras import layers

    given = keras.Input((40,), dtype="int32")
    return given, layers.Embedding(16, 8)(given % 16)


TASKS: dict[Callable[[Any], tuple[Any, Any]], tuple[str, int, int]] = {
    positions_inside: ("tokens", 40, 500),
    positions_first: ("tokens", 40, 500),
    smaller_of_two: ("tokens", 40, 500),
    masked_by_hand: ("tokens", 40, 500),
    in_a_traced_function: ("tokens", 40, 500),
    by_one_hot: ("tokens", 40, 500),
    by_take: ("tokens", 40, 500),
    columns_of_a_table: ("vectors", 6, 0),
    categories_alone: ("tokens", 2, 30),
    buckets: ("vectors", 6, 0),
    unrelated: ("vectors", 6, 0),
    whole_numbers: ("tokens", 40, 0),
}


@pytest.mark.parametrize("made", TASKS, ids=lambda made: made.__name__)
def test_the_vocabulary_is_that_of_the_embedding_that_the_input_reaches(made: Any) -> None:
    import keras
    from keras import layers

    from emulator.learning.learners.tensorflow.keras_task import task_of

    given, features = made(keras)
    outputs = layers.Dense(2)(layers.GlobalAveragePooling1D()(features))
    kind, length, vocabulary = TASKS[made]
    expected = Task(kind, (length,), classes=2, vocabulary=vocabulary)  # type: ignore[arg-type]
    assert task_of(keras.Model(given, outputs), regression=False) == expected
