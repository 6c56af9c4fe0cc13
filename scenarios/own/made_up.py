"""Made-up data that can be learnt: `images` and `texts` in classes, and `houses` with prices.

Name a function in a scenario: `dataset: ./made_up.py:images`. Only NumPy is needed.
"""

import numpy as np

TRAIN, TEST = 4000, 1000
"""Examples to train on, and examples for the test."""


def images():
    """Images of 32 × 32 pixels with three channels, in 10 classes.

    A class is a colour and a direction of stripes; place, width and brightness of the stripes are
    drawn, and noise is added.
    """
    rng = np.random.default_rng(1)
    labels = _labels(10, rng)
    count = len(labels)
    rows, columns = np.mgrid[:32, :32] / 32
    angle = (labels % 5 * np.pi / 5 + rng.normal(0, 0.1, count))[:, None, None]
    across = rows * np.cos(angle) + columns * np.sin(angle)
    waves = rng.uniform(3, 5, (count, 1, 1))
    stripes = np.sin(2 * np.pi * (waves * across + rng.uniform(0, 1, (count, 1, 1))))
    colours = np.where((labels // 5)[:, None] == 0, (1.0, 0.6, 0.2), (0.2, 0.6, 1.0))
    light = rng.uniform(40, 90, (count, 1, 1, 1))
    x = 128 + light * stripes[..., None] * colours[:, None, None, :]
    x += rng.normal(0, 25, x.shape)
    return _parts(x.clip(0, 255).astype(np.uint8), labels)


def texts():
    """Texts of 40 token ids out of 500, in 4 classes.

    A class has 20 ids of its own, a quarter of a text's; ids of other classes stand in it, too, so
    that no single id tells the class.
    """
    rng = np.random.default_rng(2)
    labels = _labels(4, rng)
    shape = (len(labels), 40)
    common = 80 + rng.integers(0, 420, shape)
    own = labels[:, None] * 20 + rng.integers(0, 20, shape)
    other = rng.integers(0, 80, shape)
    draw = rng.random(shape)
    x = np.where(draw < 0.25, own, np.where(draw < 0.4, other, common))
    return _parts(x, labels)


def houses():
    """Vectors of 6 numbers, with a price each: a product, a step and noise."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(TRAIN + TEST, 6)).astype(np.float32)
    price = x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + np.where(x[:, 3] > 0, 1.0, -1.0)
    price += rng.normal(0, 0.1, len(price))
    return _parts(x, price.astype(np.float32))


def _labels(classes, rng):
    return rng.integers(0, classes, TRAIN + TEST)


def _parts(x, y):
    return x[:TRAIN], y[:TRAIN], x[TRAIN:], y[TRAIN:]
