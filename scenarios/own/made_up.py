"""Made-up data that can be learnt, for the models beside this file."""

import numpy as np

Part = tuple[np.ndarray, np.ndarray]


def images() -> tuple[Part, Part]:
    """Return colour images of 32 × 32 pixels, in 10 classes: waves of a class's direction, length
    and colour, under noise."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:32, :32] / 32
    colours = rng.random((10, 3))

    def part(count: int) -> Part:
        y = rng.integers(0, 10, count)
        angles, phases = y * np.pi / 10, rng.random(count) * 2 * np.pi
        across = np.multiply.outer(np.cos(angles), rows) + np.multiply.outer(
            np.sin(angles), columns
        )
        lengths = (2 + y % 3)[:, None, None]
        waves = 0.5 + 0.5 * np.sin(2 * np.pi * lengths * across + phases[:, None, None])
        coloured = waves[..., None] * colours[y][:, None, None, :]
        noisy = coloured + rng.normal(0, 0.15, coloured.shape)
        return (255 * noisy.clip(0, 1)).astype(np.uint8), y

    return part(4000), part(800)


def texts() -> tuple[Part, Part]:
    """Return texts of 40 token ids below 500, of 4 topics: a third of the words are a topic's."""
    rng = np.random.default_rng(0)

    def part(count: int) -> Part:
        y = rng.integers(0, 4, count)
        common = rng.integers(100, 500, (count, 40))
        topical = 25 * y[:, None] + rng.integers(0, 25, (count, 40))
        return np.where(rng.random((count, 40)) < 1 / 3, topical, common), y

    return part(4000), part(800)
