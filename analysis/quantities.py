"""Quantities as text for readers: three significant figures and a unit."""

import math

_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def size(count: float) -> str:
    """Return `count` bytes as text in decimal units: `20.4 MB`."""
    for scale, unit in _SIZES:
        if abs(count) >= scale * 0.9995:
            return f"{figures(count / scale)} {unit}"
    return f"{count:.0f} B"


def seconds(span: float) -> str:
    """Return a time in seconds as text: `0.12 s`, `41 s`, `4 min 12 s`, or `–` for NaN."""
    if math.isnan(span):
        return "–"
    if abs(span) < 120:
        return f"{figures(span)} s" if abs(span) >= 1 else f"{span:.2f} s"
    minutes, rest = divmod(round(span), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def figures(number: float) -> str:
    """Return `number` with three significant figures, or with its whole part in full.

    The text has no powers of ten; NaN is `–`.
    """
    if number == 0 or math.isnan(number):
        return "0" if number == 0 else "–"
    places = max(0, 2 - math.floor(math.log10(abs(number))))
    text = f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(fraction: float, places: int = 1) -> str:
    """Return `fraction` in per cent with `places` decimals, or `–` for NaN."""
    return "–" if math.isnan(fraction) else f"{fraction * 100:.{places}f} %"
