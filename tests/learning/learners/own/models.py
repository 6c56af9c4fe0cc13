"""Keras models of a user, and functions that return none."""

import keras
import tensorflow as tf
from keras import layers


def dense():
    return keras.Sequential(
        [
            keras.Input((8, 8)),
            layers.Flatten(),
            layers.Dense(32, activation="relu"),
            layers.Dense(10),
        ]
    )


def cnn():
    return keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(4),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )


def mobile():
    x = images = keras.Input((32, 32, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same")(x)
    y = layers.LayerNormalization()(layers.Conv2D(16, 1)(x))
    y = layers.Activation("silu")(y)
    y = layers.GroupNormalization(4)(layers.DepthwiseConv2D(3, padding="same")(y))
    y = layers.Conv2D(8, 1)(layers.ReLU(6.0)(y))
    x = layers.SeparableConv2D(12, 3)(layers.Add()([x, y]))
    return keras.Model(images, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def text():
    return keras.Sequential(
        [
            keras.Input((20,), dtype="int32"),
            layers.Embedding(50, 8),
            layers.LSTM(16),
            layers.Dense(4),
        ]
    )


def penalized():
    return keras.Sequential(
        [
            keras.Input((20,), dtype="int32"),
            layers.Embedding(50, 8),
            layers.Bidirectional(layers.GRU(8)),
            layers.Dense(4, kernel_regularizer="l2"),
        ]
    )


def noisy():
    return keras.Sequential(
        [
            keras.Input((8, 8)),
            layers.Flatten(),
            layers.GaussianNoise(0.1),
            layers.Dense(32, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10),
        ]
    )


def two_inputs():
    a, b = keras.Input((4,)), keras.Input((4,))
    return keras.Model([a, b], layers.Dense(2)(layers.Add()([a, b])))


def batch_normalized():
    return keras.Sequential(
        [keras.Input((8, 8)), layers.Flatten(), layers.BatchNormalization(), layers.Dense(10)]
    )


def constrained():
    return keras.Sequential(
        [keras.Input((4,)), layers.Dense(2, kernel_constraint="non_neg", name="narrow")]
    )


def accented():
    return keras.Sequential([keras.Input((4,)), layers.Dense(2, name="größte Schicht")])


def infinite():
    far = keras.initializers.Constant(float("inf"))
    return keras.Sequential(
        [keras.Input((4,)), layers.Dense(2, bias_initializer=far, name="narrow")]
    )


def remembering():
    return keras.Sequential(
        [keras.Input((5, 4), 1), layers.SimpleRNN(3, stateful=True), layers.Dense(2)]
    )


def reading():
    return keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            layers.TextVectorization(100, output_sequence_length=5),
            layers.Embedding(100, 8),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )


def interrupting():
    raise KeyboardInterrupt


def mapped():
    x = keras.Input((8, 8))
    return keras.Model(x, {"answer": layers.Dense(10)(layers.Flatten()(x))})


def pythonic():
    x = keras.Input((4,))
    half = layers.Lambda(
        lambda y: tf.ensure_shape(tf.numpy_function(lambda a: a / 2, [y], tf.float32), (None, 4)),
        output_shape=(4,),
    )
    return keras.Model(x, layers.Dense(2)(half(x)))


def raising():
    return layers.Dense(1 // 0)


def nothing():
    pass


def unsaid():
    return keras.Sequential([layers.Dense(10)])


def sigmoid():
    return keras.Sequential([keras.Input((4,)), layers.Dense(2, activation="sigmoid")])


model = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
