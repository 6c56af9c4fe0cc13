"""Quantities as people write them, `80ms`, `20mbit`, `1.5%`, `512MiB`, and ranges of whole numbers.

A quantity is a float in the base unit of its class, so arithmetic needs no wrapper. The unit lives
in the type and in the YAML text, never in a name. A bare number is refused, as it has no unit.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Any, ClassVar, Self

from .errors import shortened

_NUMBER = re.compile(
    r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([a-z%/]*)", re.IGNORECASE | re.ASCII
)

MAX_SECONDS = 2**53 * 1e-6
"""Longest time in seconds: beyond it, 64-bit floats cannot tell neighbouring microseconds apart."""


def plain_digits(word: str) -> str:
    """Return `word`, for float() and Decimal(), which take underscores and other scripts' digits.

    Raises ValueError if `word` has any.
    """
    if "_" in word or not word.isascii():
        raise ValueError(f"{shortened(word)} is no number")
    return word


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))


def _product(number: str, scale: float) -> float:
    # decimal arithmetic: in binary 35 * 0.01 is 0.35000000000000003, above 35%
    try:
        return float(Decimal(number) * _decimal(scale))
    except DecimalException:  # an exponent of millions overflows even Decimal
        return float("inf")


class Quantity(float):
    """Base class of numbers that are written with a unit and stored in the base unit."""

    units: ClassVar[dict[str, float]]
    """Factor of each unit to the base unit, by the unit's spelling."""
    example: ClassVar[str]
    """Well-formed text, quoted by error messages and the JSON schema."""
    meant: ClassVar[dict[str, str]] = {}
    """Correct unit for spellings that are common elsewhere and refused here."""

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `text`, for example `80ms`, into a quantity in base units.

        Raises ValueError with the text found and the units expected.
        """
        if isinstance(text, cls):
            return text
        known = " or ".join(cls.units)
        if isinstance(text, int | float):
            raise ValueError(
                f"{shortened(text)} has no unit: write it in {known}, as {cls._with_unit(text)}"
            )
        match = _NUMBER.fullmatch(str(text).strip())
        if not match:
            raise ValueError(f"{shortened(text)} is not a number in {known}, as {cls.example}")
        number, unit = match[1], match[2].lower()
        if unit in cls.meant:
            raise ValueError(f"{shortened(text)}: write {number}{cls.meant[unit]}")
        scales = {name.lower(): scale for name, scale in cls.units.items()}
        if unit not in scales:
            raise ValueError(f"{shortened(text)} is not in {known}: write it as {cls.example}")
        return cls._checked(_product(number, scales[unit]), text)

    @classmethod
    def _with_unit(cls, number: float) -> str:
        """Return `number` with its unit if only one can be meant, else an example."""
        if "%" in cls.units and not isinstance(number, bool) and 0 < number <= 100:
            return f"{number * 100 if number <= 1 else number:.6g}%"
        return cls.example

    @classmethod
    def _checked(cls, value: float, text: object) -> Self:
        """Return `value` as a quantity. Raises ValueError if it is infinite, negative or out of
        range."""
        if value == float("inf"):
            raise ValueError(f"{shortened(text)} is not a finite number")
        if value < 0:
            raise ValueError(f"{shortened(text)} is negative")
        return cls(value)

    def __str__(self) -> str:
        """Return the shortest spelling with a whole part: `parse(str(q)) == q`."""
        # units in which the number is 1 or more; a value below all units takes the base unit
        fitting = [unit for unit, scale in self.units.items() if self >= scale]
        written = [(self._in(unit), unit) for unit in fitting or [self._base()]]
        # fewest digits; among equals the largest unit
        number, unit = min(written, key=lambda pair: (len(pair[0]), -self.units[pair[1]]))
        return number + unit

    def _in(self, unit: str) -> str:
        """Return the exact decimal digits of the quantity in `unit`."""
        return f"{(_decimal(self) / _decimal(self.units[unit])).normalize():f}"

    @classmethod
    def _base(cls) -> str:
        """Return the unit with the factor nearest to 1."""
        return min(cls.units, key=lambda unit: abs(cls.units[unit] - 1))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the pydantic schema that reads with `parse` and writes with `str`."""
        from pydantic_core import core_schema  # absent from a device's image, where nobody asks

        written = core_schema.to_string_ser_schema()
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON schema of the text: a pattern, a description and an example."""
        return {
            "type": "string",
            "pattern": rf"^\s*(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({'|'.join(cls.units)})\s*$",
            "description": f"a number in {' or '.join(cls.units)}",
            "examples": [cls.example],
        }


class Joules(Quantity):
    """An energy in joules."""

    units = {  # noqa: RUF012
        "nJ": 1e-9,
        "uJ": 1e-6,
        "mJ": 1e-3,
        "J": 1.0,
        "kJ": 1e3,
        "mWh": 3.6,
        "Wh": 3600.0,
        "kWh": 3.6e6,
    }
    example = "10Wh"


class Watts(Quantity):
    """A power in watts."""

    units = {"uW": 1e-6, "mW": 1e-3, "W": 1.0, "kW": 1e3}  # noqa: RUF012
    example = "2.5W"


class Seconds(Quantity):
    """A time in seconds, up to `MAX_SECONDS`."""

    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}  # noqa: RUF012
    example = "80ms"
    meant = {"sec": "s", "secs": "s", "seconds": "s", "m": "min", "mins": "min", "hours": "h"}  # noqa: RUF012

    @classmethod
    def _with_unit(cls, number: float) -> str:
        """Return `number` with its unit if only one can be meant, else an example."""
        if "%" in cls.units and not isinstance(number, bool) and 0 < number <= 100:
            return f"{number * 100 if number <= 1 else number:.6g}%"
        return cls.example

    @classmethod
    def _checked(cls, value: float, text: object) -> Self:
        if MAX_SECONDS < value < float("inf"):  # infinity gets the general message
            raise ValueError(
                f"{shortened(text)} is more than 285 years, to which a run can count microseconds"
            )
        return super()._checked(value, text)


class Rate(Quantity):
    """A link's rate in bits per second of Ethernet frames, as `tc` counts them."""

    units = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}  # noqa: RUF012
    example = "10mbit"
    meant = {  # tc reads Mbps as megabytes; people mean megabits  # noqa: RUF012
        "bps": "bit",
        "kbps": "kbit",
        "mbps": "mbit",
        "gbps": "gbit",
        "kbit/s": "kbit",
        "mbit/s": "mbit",
        "gbit/s": "gbit",
        "kb": "kbit",
        "mb": "mbit",
        "gb": "gbit",
    }

    @classmethod
    def _with_unit(cls, number: float) -> str:
        """Return `number` with its unit if only one can be meant, else an example."""
        if "%" in cls.units and not isinstance(number, bool) and 0 < number <= 100:
            return f"{number * 100 if number <= 1 else number:.6g}%"
        return cls.example

    @classmethod
    def _checked(cls, value: float, text: object) -> Self:
        if value == 0:
            raise ValueError(
                f"{shortened(text)}: a rate is above zero; to cut a link, use a partition"
            )
        return super()._checked(value, text)


class Fraction(Quantity):
    """A share of the whole, between 0 and 1, written in per cent."""

    units = {"%": 0.01}  # noqa: RUF012
    example = "1.5%"
    meant = {"percent": "%"}  # noqa: RUF012

    @classmethod
    def _with_unit(cls, number: float) -> str:
        """Return `number` with its unit if only one can be meant, else an example."""
        if "%" in cls.units and not isinstance(number, bool) and 0 < number <= 100:
            return f"{number * 100 if number <= 1 else number:.6g}%"
        return cls.example

    @classmethod
    def _checked(cls, value: float, text: object) -> Self:
        if value > 1:
            raise ValueError(f"{shortened(text)} is more than 100%")
        return super()._checked(value, text)


class Share(Quantity):
    """A share of one processor core: 50% is half a core, 200% two cores."""

    units = {"%": 0.01}  # noqa: RUF012
    example = "50%"
    meant = {"percent": "%"}  # noqa: RUF012

    @classmethod
    def _with_unit(cls, number: float) -> str:
        """Return `number` with its unit if only one can be meant, else an example."""
        if "%" in cls.units and not isinstance(number, bool) and 0 < number <= 100:
            return f"{number * 100 if number <= 1 else number:.6g}%"
        return cls.example

    @classmethod
    def _checked(cls, value: float, text: object) -> Self:
        if value == 0:
            raise ValueError(f"{shortened(text)}: a share of a core is above zero")
        return super()._checked(value, text)


class Bytes(Quantity):
    """An amount of memory, in bytes."""

    units = {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}  # noqa: RUF012
    example = "512MiB"
    meant = {  # noqa: RUF012
        "k": "KiB",
        "kb": "KiB",
        "m": "MiB",
        "mb": "MiB",
        "g": "GiB",
        "gb": "GiB",
    }


def three_digits(value: float) -> float:
    """Return `value` rounded to three significant digits, for a message."""
    return float(f"{value:.3g}")


def about(seconds: float) -> str:
    """Return `seconds` with three digits and a unit, as `412ms`."""
    return str(Seconds(three_digits(seconds)))


@dataclass(frozen=True)
class AtLeast:
    """Annotation of a whole number from `least` up.

    A class checks a field with `check`. The annotation lets the scenario's reader report a wrong
    number at the field's own place, beside the mistakes in other fields.
    """

    least: int

    def check(self, value: int, name: str = "") -> int:
        """Return `value`, of the field `name`. Raises ValueError if `value` is too small."""
        if value < self.least:
            place = f"{name}: " if name else ""
            raise ValueError(
                f"{place}{value} is too small: write a whole number from {self.least} up"
            )
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # absent from a device's image, where nobody asks

        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "minimum": self.least}


@dataclass(frozen=True)
class Checked:
    """Annotation of a field whose value `check` refuses with a ValueError, if it does not fit.

    A class calls the same function for the field. The annotation serves as that of `AtLeast` does.
    """

    check: Callable[[Any], None]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # absent from a device's image, where nobody asks

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: Any) -> Any:
        self.check(value)
        return value
