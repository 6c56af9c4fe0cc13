"""A calibration as it is kept: a small JSON file for each host, processor, model, batch, codec."""

import json
import math
import os
import platform
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..codecs import AnyCodec
from ..errors import HostError
from ..machine.cache import cache
from ..machine.remade_files import made_again
from ..units import Quantity, Seconds
from ..world import laws
from ..world.laws import Fixed, LogNormal

PROCESSOR = Path("/proc/cpuinfo")
DIGITS = 3
"""Of every figure: more than the next measurement would confirm, and readable in YAML."""


@dataclass(frozen=True)
class Calibration:
    """What a worker of that model, batch size and codec takes on a core of that host."""

    host: str
    processor: str
    date: str
    """The day of the measurement, as 2026-05-17."""
    model: str
    batch_size: int
    codec: str
    """In a few words, as `topk 1%`."""
    step: LogNormal
    """CPU time from one model to the next: take it in, find the gradient, encode it, send it."""
    boot: Fixed
    """CPU time from the start of a worker's process to its hello."""
    serve: Fixed
    """CPU time of the server from one update to the next: take it in, apply it, send the model."""

    @property
    def median(self) -> float:
        """Seconds of a step."""
        return float(self.step.lognormal[0])

    def meanwhile(self, later: "Calibration") -> "Calibration":
        """What lies between this one and a later one: the mean of each figure."""
        (one, sigma), (other, spread) = self.step.lognormal, later.step.lognormal
        step = LogNormal((Seconds((one + other) / 2), (sigma + spread) / 2))
        return replace(
            later,
            step=step,
            boot=Fixed(Seconds((self.boot.fixed + later.boot.fixed) / 2)),
            serve=Fixed(Seconds((self.serve.fixed + later.serve.fixed) / 2)),
        )

    def plain(self) -> dict[str, Any]:
        """As JSON holds it, times in seconds; `read` is its inverse."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, **{name: laws.plain(values[name]) for name in ("step", "boot", "serve")}}

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return _file(self.host, self.processor, self.model, self.batch_size, self.codec)


def read(plain: Any) -> Calibration:
    """A ValueError says that these are not a calibration."""
    try:
        (median, sigma) = plain["step"]["lognormal"]
        step = LogNormal((Seconds(median), float(sigma)))
        single = {name: Fixed(Seconds(plain[name]["fixed"])) for name in ("boot", "serve")}
        found = Calibration(**{**plain, "step": step, **single})
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a calibration: {error}") from error
    words = (found.host, found.processor, found.date, found.model, found.codec)
    sound = all(isinstance(word, str) for word in words) and isinstance(found.batch_size, int)
    times = (found.boot.fixed, found.serve.fixed)
    if not sound or not all(0 < time < math.inf for time in times):
        raise ValueError("not a calibration")
    return found


def here() -> tuple[str, str]:
    """This host's name and its processor's."""
    return platform.node(), _processor()


def described(codec: AnyCodec, error_feedback: bool = False) -> str:
    """The codec in a few words: its kind, and what is not as it is by default."""
    told = [field for field in fields(codec) if field.name != "kind"]
    values = [getattr(codec, field.name) for field in told]
    words = [
        str(value)
        for field, value in zip(told, values, strict=True)
        if isinstance(value, Quantity) or value != field.default
    ]
    return " ".join([codec.kind, *words, *(["error feedback"] if error_feedback else [])])


def rounded(value: float) -> float:
    """To as many digits as a measurement is worth."""
    return float(f"{value:.{DIGITS}g}")


def find(host: str, processor: str, model: str, batch_size: int, codec: str) -> Calibration | None:
    """The one that is kept; None if there is none, or if its file is damaged, which is said."""
    asked = (host, processor, model, batch_size, codec)
    file = _file(*asked)
    try:
        found = _read(file)
        if _key(found) != asked:
            raise ValueError("it is of something else")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        made_again(file, str(error))
        return None
    return found


def stored() -> list[Calibration]:
    """All that are kept, whichever host they are of; damaged files are passed over."""
    found = []
    for file in sorted(cache("calibration").glob("*.json")):
        with suppress(OSError, ValueError):
            found.append(_read(file))
    return found


def store(calibration: Calibration) -> Path:
    """Keep it in place of an earlier one; a reader never sees half of it."""
    file = calibration.file
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(calibration.plain(), indent=1) + "\n")
        beside.replace(file)
    except OSError as error:
        raise HostError(
            f"cannot keep the calibration in {file}: {error.strerror}: set EMULATE_CACHE to a "
            "folder that can be written"
        ) from error
    return file


def _key(of: Calibration) -> tuple[str, str, str, int, str]:
    return of.host, of.processor, of.model, of.batch_size, of.codec


def _file(host: str, processor: str, model: str, batch_size: int, codec: str) -> Path:
    digest = sha256("\0".join((host, processor, codec)).encode()).hexdigest()[:12]
    return cache("calibration", f"{model}-{batch_size}-{digest}.json")


def _read(file: Path) -> Calibration:
    """Read a calibration; a ValueError if the file holds none."""
    try:
        return read(json.loads(file.read_bytes()))
    except (OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _processor() -> str:
    try:
        lines = PROCESSOR.read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.machine()
