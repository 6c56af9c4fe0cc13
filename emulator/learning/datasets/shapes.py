"""Generated pictures: ten shapes in colours, of 32 × 32 pixels as those of CIFAR-10.

The pictures serve to train deep networks for colour images, offline and without a licence but our
own. A class is the outline of a shape, whatever its place, size and colour. A band lies behind the
shape, a rectangle may hide a part of it, and every pixel has noise. All arithmetic is on integers,
so the pictures are the same on every machine.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import chance
from .archives import Files
from .examples import Bytes

SIDE = 32
"""Pixels of a picture in height and width."""
CHANNELS = 3
NOISE = 24
"""Largest amount by which noise changes a channel of a pixel."""
SMALL, LARGE = 7, 12
"""Least and largest half of a shape's height and width, in pixels."""
_CHUNK = 1000
"""Pictures that are drawn at once."""

Pixels: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


def _shapes(x: Pixels, y: Pixels, radius: Pixels) -> tuple[Mask, ...]:
    """Return which pixels each shape covers, by class; `x` and `y` count from its centre."""
    wide, high, squared = np.abs(x), np.abs(y), x * x + y * y
    square = np.maximum(wide, high) <= radius
    disc = squared <= radius * radius
    third = radius // 3
    return (
        disc,
        disc & (4 * squared >= radius * radius),  # a ring
        square,
        square & (2 * np.maximum(wide, high) >= radius),  # a frame
        wide + high <= radius,  # a square on its corner
        (high <= radius) & (2 * wide <= y + radius),  # a triangle
        square & ((wide <= third) | (high <= third)),  # a cross
        square & (np.abs(wide - high) <= third),  # a cross on its side
        square & ((y + SIDE) // 3 % 2 == 0),  # bars
        square & (((y + SIDE) // 3 + (x + SIDE) // 3) % 2 == 0),  # checks
    )


@dataclass(frozen=True)
class Drawing:
    """A Source with generated files: bytes of pictures, and of their classes."""

    counts: Mapping[str, int]
    """Number of pictures of each set."""

    def __str__(self) -> str:
        return "its own drawing"

    def files(self, names: Collection[str]) -> Files:
        made: Files = {}
        for name, count in self.counts.items():
            pictures, classes = draw(name, count)
            made[f"{name}-images"], made[f"{name}-labels"] = pictures.tobytes(), classes.tobytes()
        return {name: made[name] for name in names}


def draw(name: str, count: int) -> tuple[Bytes, Bytes]:
    """Return `count` pictures [count, 32, 32, 3] of the set called `name`, and their classes.

    They depend on `name` and `count` alone; all classes are equally frequent, but for a rest.
    """
    rng = chance.stream(chance.made_up_pictures(name))
    classes = rng.permutation(count) % len(_shapes(*np.zeros((3, 1), np.int64)))
    chunks = [_pictures(rng, classes[at : at + _CHUNK]) for at in range(0, count, _CHUNK)]
    return np.concatenate(chunks), classes.astype(np.uint8)


def _pictures(rng: np.random.Generator, classes: Pixels) -> Bytes:
    """Return a picture of each of `classes`."""
    count = len(classes)
    y, x = (axis[None] for axis in np.mgrid[:SIDE, :SIDE])
    background = rng.integers(256, size=(count, 1, 1, CHANNELS))
    # each channel is 64 or more away, round the circle of 256 values
    colour = (background + rng.integers(64, 193, size=background.shape)) % 256
    pictures = np.broadcast_to(background, (count, SIDE, SIDE, CHANNELS)).copy()
    _paint(pictures, _rectangle(rng, x, y, count, SIDE), rng)
    radius = _each(rng, count, SMALL, LARGE + 1)
    centres = (_each(rng, count, 8, SIDE - 8) for _ in range(2))
    across, down = (axis - centre for axis, centre in zip((x, y), centres, strict=True))
    covered = np.choose(classes[:, None, None], _shapes(across, down, radius))
    np.copyto(pictures, colour, where=covered[..., None])
    hidden = _rectangle(rng, x, y, count, 9) & (_each(rng, count, 0, 2) == 1)
    _paint(pictures, hidden, rng)
    pictures += rng.integers(-NOISE, NOISE + 1, size=pictures.shape)
    return pictures.clip(0, 255).astype(np.uint8)


def _paint(pictures: Pixels, where: Mask, rng: np.random.Generator) -> None:
    """Give the pixels `where` a colour, another one in each of `pictures`."""
    colour = rng.integers(256, size=(len(pictures), 1, 1, CHANNELS))
    np.copyto(pictures, colour, where=where[..., None])


def _rectangle(rng: np.random.Generator, x: Pixels, y: Pixels, count: int, longest: int) -> Mask:
    """Return a rectangle for each picture, 4 pixels high and up to `longest` wide, or turned."""
    left, top = (_each(rng, count, 0, SIDE - 4) for _ in range(2))
    long, turned = _each(rng, count, 4, longest + 1), _each(rng, count, 0, 2) == 1
    width, height = np.where(turned, 4, long), np.where(turned, long, 4)
    return (x >= left) & (x < left + width) & (y >= top) & (y < top + height)


def _each(rng: np.random.Generator, count: int, least: int, end: int) -> Pixels:
    """Return a number from `least` to below `end` for each of `count` pictures."""
    return rng.integers(least, end, size=(count, 1, 1))
