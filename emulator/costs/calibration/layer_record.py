"""Stored computing times of layers: a JSON file for each host, processor, model and batch size."""

import json
import math
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...machine.cache import cache, made_again
from .record import keep


@dataclass(frozen=True)
class LayerSeconds:
    """CPU seconds of each layer of `model` on a core of `host`, the first layer first."""

    host: str
    processor: str
    model: str
    batch_size: int
    forward: tuple[float, ...]
    """CPU seconds of each layer's forward pass."""
    backward: tuple[float, ...]
    """CPU seconds of each layer's backward pass."""

    @property
    def gradient(self) -> float:
        """CPU seconds of a gradient: the sum over all passes."""
        return sum(self.forward) + sum(self.backward)


def read(plain: Any) -> LayerSeconds:
    """Build the times from their JSON form. Raises a ValueError if `plain` has another form."""
    try:
        passes = {name: tuple(map(float, plain[name])) for name in ("forward", "backward")}
        built = LayerSeconds(**{**plain, **passes})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not the times of layers: {error}") from error
    times = (*built.forward, *built.backward)
    sound = all(0 < time < math.inf for time in times)
    if not sound or not times or len(built.forward) != len(built.backward):
        raise ValueError("not the times of layers")
    return built


def find(host: str, processor: str, model: str, batch_size: int) -> LayerSeconds | None:
    """Return the stored times; None if the cache has no file for these.

    A damaged file is reported, and will be written anew.
    """
    key = (host, processor, model, batch_size)
    file = _file(*key)
    try:
        stored = read(json.loads(file.read_bytes()))
        if _key(stored) != key:
            raise ValueError("it is of something else")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        made_again(file, str(error))
        return None
    return stored


def store(times: LayerSeconds) -> Path:
    """Write `times` to the cache; return the file. Raises a HostError."""
    return keep(_file(*_key(times)), asdict(times))


def _key(times: LayerSeconds) -> tuple[str, str, str, int]:
    return times.host, times.processor, times.model, times.batch_size


def _file(host: str, processor: str, model: str, batch_size: int) -> Path:
    digest = sha256("\0".join((host, processor)).encode()).hexdigest()[:12]
    return cache("calibration", f"layers-{model}-{batch_size}-{digest}.json")
