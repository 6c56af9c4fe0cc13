"""Three Keras models: for colour images of 32 × 32 pixels, and for texts of 40 token ids."""

import keras
from keras import layers


def cnn() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )


def mobile() -> keras.Model:
    """As MobileNet v2 (Sandler et al., 2018), in small, with GroupNormalization."""
    images = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(images)
    x = layers.ReLU(6.0)(layers.GroupNormalization(4)(x))
    for filters, strides in ((16, 1), (24, 2), (24, 1), (32, 2)):
        x = _inverted_residual(x, filters, strides)
    return keras.Model(images, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def _inverted_residual(x, filters: int, strides: int):
    y = layers.Conv2D(3 * x.shape[-1], 1, use_bias=False)(x)
    y = layers.ReLU(6.0)(layers.GroupNormalization(4)(y))
    y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
    y = layers.ReLU(6.0)(layers.GroupNormalization(4)(y))
    y = layers.GroupNormalization(4)(layers.Conv2D(filters, 1, use_bias=False)(y))
    return layers.Add()([x, y]) if strides == 1 and x.shape[-1] == filters else y


def text() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((40,), dtype="int32"),
            layers.Embedding(500, 16),
            layers.LSTM(32),
            layers.Dense(4),
        ]
    )
