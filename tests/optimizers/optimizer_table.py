"""Every optimizer, beside the paper's recurrence in plain Python."""

from collections.abc import Sequence
from math import sqrt

import pytest

from emulator.optimizers import SGD, Adam, Momentum, Sign
from emulator.vectors import Vector

SIZE = 6
RATE = 0.1


def descended(optimizer: SGD, gradients: Sequence[Vector]) -> list[float]:
    theta = [0.0] * SIZE
    for gradient in gradients:
        theta = [t - RATE * g for t, g in zip(theta, gradient.tolist(), strict=True)]
    return theta


def rolled(optimizer: Momentum, gradients: Sequence[Vector]) -> list[float]:
    theta, u = [0.0] * SIZE, [0.0] * SIZE
    for gradient in gradients:
        u = [optimizer.momentum * v + g for v, g in zip(u, gradient.tolist(), strict=True)]
        theta = [t - RATE * v for t, v in zip(theta, u, strict=True)]
    return theta


def adapted(optimizer: Adam, gradients: Sequence[Vector]) -> list[float]:
    """Kingma & Ba, algorithm 1."""
    theta, one, two = [0.0] * SIZE, optimizer.beta1, optimizer.beta2
    for k in range(SIZE):
        m = v = 0.0
        for t, gradient in enumerate(gradients, 1):
            g = float(gradient[k])
            m, v = one * m + (1 - one) * g, two * v + (1 - two) * g * g
            theta[k] -= RATE * (m / (1 - one**t)) / (sqrt(v / (1 - two**t)) + optimizer.epsilon)
    return theta


def elected(optimizer: Sign, gradients: Sequence[Vector]) -> list[float]:
    """Bernstein et al., with one voter a step."""
    theta = [0.0] * SIZE
    for gradient in gradients:
        theta = [
            t - RATE * ((g > 0) - (g < 0)) for t, g in zip(theta, gradient.tolist(), strict=True)
        ]
    return theta


TABLE = [
    pytest.param(SGD(), descended, id="sgd"),
    pytest.param(Momentum(), rolled, id="momentum"),
    pytest.param(Momentum(-0.4), rolled, id="momentum below zero"),
    pytest.param(Adam(), adapted, id="adam"),
    pytest.param(Adam(beta1=0, beta2=0.5, epsilon=0.01), adapted, id="adam with other numbers"),
]
WITH_SIGN = [*TABLE, pytest.param(Sign(), elected, id="sign")]
