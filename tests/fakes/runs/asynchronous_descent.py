"""Asynchronous SGD on a noisy bowl, whose momentum is known."""

import numpy as np

from analysis.facts.momentum import Trajectory

CURVATURE = np.array([1.0, 0.5, 0.3])
RATE = 0.1


def asynchronous(
    groups: int,
    seed: int,
    steps: int = 60,
    explicit: float = 0.0,
    noise: float = 0.3,
    memoryless: bool = True,
) -> Trajectory:
    """SGD of `groups` devices on a noisy bowl; the next to push is any device, or is in turn."""
    rng = np.random.default_rng(seed)
    model = np.full(3, 4.0)
    held, speed = [model] * groups, np.zeros(3)
    changes, gradients = [], []
    for number in range(steps):
        device = int(rng.integers(groups)) if memoryless else number % groups
        gradients.append(CURVATURE * model)
        gradient = CURVATURE * held[device] + rng.normal(0, noise, 3)
        speed = explicit * speed - RATE * groups * gradient
        changes.append(speed)
        model = held[device] = model + speed
    return Trajectory(np.array(changes), np.array(gradients))
