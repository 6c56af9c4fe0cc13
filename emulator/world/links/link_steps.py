"""Dated changes of a link: the steps of a side, and the played trace of a side."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from ...units import Checked, Fraction, Rate, Seconds
from .traces import LinkTrace


@dataclass(frozen=True, kw_only=True)
class LinkStep:
    """Step of a link's side: from a time of the run on, some keys of the side have other values."""

    at: Seconds
    """Time of the run from which the step holds, until the next one."""
    rate: Rate | None = None
    """Rate. Without it, the side's own."""
    delay: Seconds | None = None
    """Delay. Without it, the side's own."""
    jitter: Seconds | None = None
    """Jitter. Without it, the side's own."""
    loss: Fraction | None = None
    """Loss. Without it, the side's own."""

    def __post_init__(self) -> None:
        if not self.named:
            raise ValueError("changes nothing: give `rate`, `delay`, `jitter` or `loss`")

    @property
    def named(self) -> dict[str, Any]:
        """The keys of the side that the step changes, with their values."""
        values = {key: getattr(self, key) for key in ("rate", "delay", "jitter", "loss")}
        return {key: value for key, value in values.items() if value is not None}

    def plain(self) -> dict[str, float]:
        """Return the step for JSON, in base units."""
        return {"at": float(self.at), **{key: float(value) for key, value in self.named.items()}}

    @classmethod
    def read(cls, plain: dict[str, float]) -> Self:
        """Return the step of a description by `plain`."""
        types = {"at": Seconds, "rate": Rate, "delay": Seconds, "jitter": Seconds, "loss": Fraction}
        values: dict[str, Any] = {key: types[key](value) for key, value in plain.items()}
        return cls(**values)


class TraceStart(Seconds):
    """A time of a trace, or `random`: a time that each device draws."""

    RANDOM = "random"
    example = "30s"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `text`, a time or `random`."""
        if text == cls.RANDOM:
            return cls(-1.0)
        try:
            return super().parse(text)
        except ValueError as error:
            raise ValueError(f"{error}, or {cls.RANDOM}") from None

    def __str__(self) -> str:
        return self.RANDOM if self.random else super().__str__()

    @property
    def random(self) -> bool:
        """Whether each device draws the time."""
        return self < 0

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "anyOf": [Seconds.__get_pydantic_json_schema__(schema, handler), {"const": "random"}]
        }


def _check_scale(scale: float) -> None:
    if not (0 < scale < math.inf):
        raise ValueError(f"{scale} is not a factor above zero")


def _check_text(samples: str) -> None:
    parsed(samples)


@lru_cache(maxsize=64)
def parsed(samples: str) -> LinkTrace:
    """Return the trace of the text `samples`. Raises ValueError."""
    return LinkTrace.parse(samples)


@dataclass(frozen=True, kw_only=True)
class PlayedTrace:
    """Trace of a link's side: a file with its rate, delay and loss over time, and how it plays."""

    file: str | None = None
    """Path of the trace file, relative to the file that names it. `trace: ./x.csv` stands for
    `trace: {file: ./x.csv}`."""
    files: str | tuple[str, ...] | None = None
    """Paths of trace files, one for each device of the group: a pattern as `./bw/*.csv`, a folder,
    or a list. A device plays the file that is named after it, the others the next file that is
    left, from the first one again behind the last."""
    format: Literal["auto", "mahimahi", "csv", "cooked", "5g"] = "auto"
    """Format of the file; `auto` tells it from the first line."""
    samples: Annotated[str, Checked(_check_text)] | None = None
    """Samples of the file, as a resolved scenario holds them: `0 8000000 0.04 0.01, 1 6000000,
    end 60`, in seconds, bit/s, seconds of delay and shares of lost packets."""
    loop: bool = True
    """Whether the trace begins anew at its end; otherwise its last values stay."""
    scale: Annotated[float, Checked(_check_scale)] = 1.0
    """Factor by which the trace's rates are multiplied."""
    start: TraceStart = TraceStart(0)
    """Time of the trace at which the run begins. With `random` each device draws its own, the same
    for both sides."""

    def __post_init__(self) -> None:
        _check_scale(self.scale)
        if self.file is None and self.files is None and self.samples is None:
            raise ValueError("names no trace: give `file`, or `files` for a group")
        if self.file is not None and self.files is not None:
            raise ValueError("either `file` or `files`: leave one of them out")
        if self.samples is not None:
            _check_text(self.samples)

    @property
    def trace(self) -> LinkTrace:
        """The trace, with its own rates."""
        return parsed(self.samples or "")

    @property
    def played(self) -> LinkTrace:
        """The trace, with its own rates, as it plays: in a loop without a short last sample."""
        return self.trace.looped if self.loop else self.trace

    @property
    def loses(self) -> bool:
        """Whether the trace says which share of packets is lost."""
        known = self.samples is not None
        return known and any(sample.loss is not None for sample in self.trace.samples)

    def begin(self, draw: float) -> float:
        """Return the time of the trace at which the run begins; `draw` is from 0 to below 1."""
        return draw * self.trace.end if self.start.random else float(self.start)

    def plain(self) -> dict[str, Any]:
        """Return the keys that a player needs, for JSON."""
        start = float(self.start)
        return {"samples": self.samples, "loop": self.loop, "scale": self.scale, "start": start}

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Self:
        """Return the trace of a description by `plain`."""
        return cls(**{**plain, "start": TraceStart(plain["start"])})
