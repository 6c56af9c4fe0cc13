"""Laws of random durations: `{exponential: 10min}`, `{uniform: [1s, 5s]}`, or `20s`.

To add a law, write its class, whose only field has the name of the law, and list it in `Law`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, get_args

from ..chance import Dice
from ..units import Seconds

_LEAST_SHAPE = 0.01
_LARGEST_SIGMA = 10.0
"""With a lower shape or a larger sigma, a mean or a draw may exceed the range of a float."""


def _positive(name: str, number: float) -> None:
    if not 0 < number < math.inf:
        raise ValueError(f"{name} is {number}: it must be above zero")


@dataclass(frozen=True)
class Fixed:
    """Fixed time; a time written alone means this law."""

    fixed: Seconds

    @property
    def mean(self) -> float:
        return self.fixed

    def draw(self, rng: Dice) -> float:
        return self.fixed


@dataclass(frozen=True)
class Exponential:
    """Exponential law with this mean: the time that remains does not depend on the time passed."""

    exponential: Seconds

    def __post_init__(self) -> None:
        _positive("the mean of exponential", self.exponential)

    @property
    def mean(self) -> float:
        return self.exponential

    def draw(self, rng: Dice) -> float:
        return rng.expovariate(1 / self.exponential)


@dataclass(frozen=True)
class Normal:
    """Normal law, `[mean, deviation]`; draws below zero become zero."""

    normal: tuple[Seconds, Seconds]

    def __post_init__(self) -> None:
        _positive("the mean of normal", self.normal[0])

    @property
    def mean(self) -> float:
        """Return the mean of the uncut law; right for deviations well below the mean."""
        return self.normal[0]

    def draw(self, rng: Dice) -> float:
        return max(0.0, rng.gauss(*self.normal))


@dataclass(frozen=True)
class Uniform:
    """Uniform law, `[shortest, longest]`: all times between are equally likely."""

    uniform: tuple[Seconds, Seconds]

    def __post_init__(self) -> None:
        low, high = self.uniform
        if low > high:
            raise ValueError(f"uniform runs from {low} to {high}: write the shorter one first")

    @property
    def mean(self) -> float:
        return sum(self.uniform) / 2

    def draw(self, rng: Dice) -> float:
        return rng.uniform(*self.uniform)


@dataclass(frozen=True)
class Weibull:
    """Weibull law, `[scale, shape]`. A shape below 1 means early failures, above 1 wear."""

    weibull: tuple[Seconds, float]

    def __post_init__(self) -> None:
        _positive("the scale of weibull", self.weibull[0])
        _positive("the shape of weibull", self.weibull[1])
        if self.weibull[1] < _LEAST_SHAPE:
            raise ValueError(
                f"the shape of weibull is {self.weibull[1]:g}: it is {_LEAST_SHAPE:g} at least, or "
                "times get longer than a computer can count"
            )

    @property
    def mean(self) -> float:
        scale, shape = self.weibull
        return scale * math.gamma(1 + 1 / shape)

    def draw(self, rng: Dice) -> float:
        return rng.weibullvariate(*self.weibull)


@dataclass(frozen=True)
class LogNormal:
    """Log-normal law, `[median, sigma]`, with sigma of the logarithm; fits many repair times."""

    lognormal: tuple[Seconds, float]

    def __post_init__(self) -> None:
        _positive("the median of lognormal", self.lognormal[0])
        _positive("the sigma of lognormal", self.lognormal[1])
        if self.lognormal[1] > _LARGEST_SIGMA:
            raise ValueError(
                f"the sigma of lognormal is {self.lognormal[1]:g}: it is {_LARGEST_SIGMA:g} at "
                "most, or times get longer than a computer can count"
            )

    @property
    def mean(self) -> float:
        median, sigma = self.lognormal
        return median * math.exp(sigma**2 / 2)

    def draw(self, rng: Dice) -> float:
        median, sigma = self.lognormal
        return rng.lognormvariate(math.log(median), sigma)


Law: TypeAlias = Fixed | Exponential | Normal | Uniform | Weibull | LogNormal

LAWS: dict[str, type[Law]] = {fields(law)[0].name: law for law in get_args(Law)}


def plain(law: Law) -> dict[str, Any]:
    """Return `law` for JSON, with times in seconds. `read` is the inverse."""
    (name,) = (field.name for field in fields(law))
    value = getattr(law, name)
    return {name: [float(part) for part in value] if isinstance(value, tuple) else float(value)}


def read(plain: Mapping[str, Any]) -> Law:
    """Return the law of a description by `plain`. Raises ValueError for an unknown law."""
    ((name, value),) = plain.items()
    if name not in LAWS:
        raise ValueError(f"law {name!r} is not {' or '.join(LAWS)}")
    # a law only calculates with its numbers, so floats serve where seconds are meant
    return LAWS[name](tuple(value) if isinstance(value, list) else value)  # type: ignore[arg-type]
