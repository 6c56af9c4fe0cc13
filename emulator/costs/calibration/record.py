"""Stored calibrations, and computing times of layers: JSON files of one host and processor each.

A calibration has a file for each model, batch size and codec; times of layers know no codec.
"""

import json
import math
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from ...codecs import AnyCodec
from ...errors import HostError
from ...machine.cache import cache, made_again
from ...units import Quantity, Seconds
from ...world import laws
from ...world.laws import Fixed, LogNormal

PROCESSOR = Path("/proc/cpuinfo")
DIGITS = 3
"""Significant digits of every figure: more than a second measurement would confirm."""
_STEPS = "2"
"""Number in the names of files, to be raised when the code of a step becomes faster or slower: what
was measured before is then measured anew."""


@dataclass(frozen=True)
class Calibration:
    """CPU times of a worker and of the server on a core of `host`, for a model and a codec."""

    host: str
    processor: str
    date: str
    """Day of the measurement, for example 2026-05-17."""
    model: str
    batch_size: int
    codec: str
    """As `described` writes a codec, for example `topk 1%`."""
    step: LogNormal
    """CPU seconds of the worker between two models: receive, compute the gradient, encode, send."""
    boot: Fixed
    """CPU seconds from the start of a worker's process to the worker's hello."""
    serve: Fixed
    """CPU seconds of the server between two updates: receive, apply, send the model."""

    @property
    def median(self) -> float:
        """Return the median of a step, in seconds."""
        return float(self.step.lognormal[0])

    def mean_with(self, later: "Calibration") -> "Calibration":
        """Return the mean of each figure of this calibration and a `later` one."""
        (median, sigma), (later_median, later_sigma) = self.step.lognormal, later.step.lognormal
        step = LogNormal((Seconds((median + later_median) / 2), (sigma + later_sigma) / 2))
        return replace(
            later,
            step=step,
            boot=Fixed(Seconds((self.boot.fixed + later.boot.fixed) / 2)),
            serve=Fixed(Seconds((self.serve.fixed + later.serve.fixed) / 2)),
        )

    def plain(self) -> dict[str, Any]:
        """Return the calibration as JSON holds it, times in seconds. `read` is the inverse."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, **{name: laws.plain(values[name]) for name in ("step", "boot", "serve")}}

    @property
    def file(self) -> Path:
        """Return the path of the calibration's file in the cache."""
        return _file(*self.key)

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """Return what the file is known by."""
        return self.host, self.processor, self.model, self.batch_size, self.codec


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

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Return what the file is known by."""
        return self.host, self.processor, self.model, self.batch_size


S = TypeVar("S", Calibration, LayerSeconds)


def read(plain: Any) -> Calibration:
    """Build a calibration from its JSON form. Raises a ValueError if `plain` has another form."""
    try:
        (median, sigma) = plain["step"]["lognormal"]
        step = LogNormal((Seconds(median), float(sigma)))
        single = {name: Fixed(Seconds(plain[name]["fixed"])) for name in ("boot", "serve")}
        built = Calibration(**{**plain, "step": step, **single})
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a calibration: {error}") from error
    words = (built.host, built.processor, built.date, built.model, built.codec)
    sound = all(isinstance(word, str) for word in words) and isinstance(built.batch_size, int)
    times = (built.boot.fixed, built.serve.fixed)
    if not sound or not all(0 < time < math.inf for time in times):
        raise ValueError("not a calibration")
    return built


def read_layers(plain: Any) -> LayerSeconds:
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


def here() -> tuple[str, str]:
    """Return the names of this host and of its processor."""
    return platform.node(), _processor()


def described(codec: AnyCodec, error_feedback: bool = False) -> str:
    """Return the kind of `codec` and its settings that differ from the default, in a few words."""
    settings = [field for field in fields(codec) if field.name != "kind"]
    values = [getattr(codec, field.name) for field in settings]
    words = [
        str(value)
        for field, value in zip(settings, values, strict=True)
        if isinstance(value, Quantity) or value != field.default
    ]
    return " ".join([codec.kind, *words, *(["error feedback"] if error_feedback else [])])


def rounded(value: float) -> float:
    """Round `value` to `DIGITS` significant digits."""
    return float(f"{value:.{DIGITS}g}")


def find(host: str, processor: str, model: str, batch_size: int, codec: str) -> Calibration | None:
    """Return the stored calibration; None if the cache has no file for these.

    A damaged file is reported, and will be written anew.
    """
    key = (host, processor, model, batch_size, codec)
    return _found(_file(*key), read, key)


def find_layers(host: str, processor: str, model: str, batch_size: int) -> LayerSeconds | None:
    """Return the stored times of layers, as `find`."""
    key = (host, processor, model, batch_size)
    return _found(_layers_file(*key), read_layers, key)


def _found(file: Path, read: Callable[[Any], S], key: tuple[str | int, ...]) -> S | None:
    try:
        stored = _read(file, read)
        if stored.key != key:
            raise ValueError("it is of something else")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        made_again(file, str(error))
        return None
    return stored


def store(calibration: Calibration) -> Path:
    """Write `calibration` to the cache, over an earlier measurement; return the file.

    Raises a HostError if the cache cannot be written.
    """
    return _keep(calibration.file, calibration.plain())


def store_layers(times: LayerSeconds) -> Path:
    """Write `times` to the cache, as `store`."""
    return _keep(_layers_file(*times.key), asdict(times))


def _keep(file: Path, plain: dict[str, Any]) -> Path:
    """Write `plain` as JSON to `file` in the cache; return the file. Raises a HostError."""
    # renamed once complete, so that a reader never sees half of the file
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise HostError(
            f"cannot keep the calibration in {file}: {error.strerror}: set EMULATE_CACHE to a "
            "folder that can be written"
        ) from error
    return file


def _file(host: str, processor: str, model: str, batch_size: int, codec: str) -> Path:
    digest = sha256("\0".join((host, processor, codec, _STEPS)).encode()).hexdigest()[:12]
    return cache("calibration", f"{model}-{batch_size}-{digest}.json")


def _layers_file(host: str, processor: str, model: str, batch_size: int) -> Path:
    digest = sha256("\0".join((host, processor, _STEPS)).encode()).hexdigest()[:12]
    return cache("calibration", f"layers-{model}-{batch_size}-{digest}.json")


def _read(file: Path, read: Callable[[Any], S]) -> S:
    """Return what `read` makes of `file`. Raises a ValueError if the file holds something else."""
    try:
        return read(json.loads(file.read_bytes()))
    except (OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _processor() -> str:
    try:
        lines = PROCESSOR.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()
