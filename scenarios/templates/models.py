"""Keras models for `training.model`: functions without arguments that return a `keras.Model`."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return a small convolutional network for images of 8 x 8 pixels and ten classes."""
    return keras.Sequential(
        [
            keras.Input((8, 8)),
            layers.Reshape((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.1),  # drawn by the seed, the device and the step
            layers.Dense(32, activation="relu"),
            layers.Dense(10),
        ]
    )
