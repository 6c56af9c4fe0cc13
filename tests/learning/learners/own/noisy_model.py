"""A Keras model with a layer of each kind of noise."""


def build():
    # Keras takes seconds to import, and each collection of the tests imports this module
    import keras
    from keras import layers

    return keras.Sequential(
        [
            keras.Input((8, 8)),
            layers.SpatialDropout1D(0.25),
            layers.Flatten(),
            layers.Dense(16, activation="relu"),
            layers.Dropout(0.4),
            layers.Dense(12, activation="tanh"),
            layers.GaussianNoise(0.1),
            layers.GaussianDropout(0.2),
            layers.Dense(10),
        ]
    )
