"""Measures of a run by name: the columns of tables, the axes of figures, the values of claims.

`ended` is a measure, `pushed to 98.5%` another. `fewer M` and `gain M` compare a row with another
entry of its world by the medians of the measure M: how many times less, and how much more.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from ..quantities import figures, percent, seconds, size
from .course import BYTE_MODELS, PLACES, Course

LAST = 4
"""Number of evaluations in the mean that is the final accuracy: a single evaluation is noisy."""
SOON = 2
"""Number of evaluations in the mean that is the accuracy after a time."""

Words = Callable[[float], str]


@dataclass(frozen=True)
class Measure:
    """A number of a run, and how it is written."""

    of: Callable[[Course], float]
    """Returns infinity for a target that was never reached, and NaN for a value that is missing."""
    words: Words
    label: str
    """Label of an axis, with its unit."""
    spread: bool = False
    """Whether tables show the least and the most of the seeds beside the median."""
    share: bool = False
    """Whether the value is a share, shown in per cent, and differences in points."""
    so_far: Callable[[Course], float] | None = None
    """Of a cost to a target: the cost until the last evaluation, for runs that never reach it."""


class UnknownMeasureError(ValueError):
    """A name in a study's file that is no measure."""


def measure(name: str) -> Measure:
    """Return the measure called `name`. Raises UnknownMeasureError with the names that exist."""
    if name in PLAIN:
        return PLAIN[name]
    for pattern, make in PATTERNS.items():
        if (match := re.fullmatch(pattern, name)) and (made := make(*match.groups())):
            return made
    raise UnknownMeasureError(f"{name!r} is not a measure: {NAMES}")


def shares(text: str) -> float:
    """Return `98.5%` as a fraction."""
    return float(text.removesuffix("%")) / 100


def heading(name: str) -> str:
    """Return `name` as the heading of a column: `fewer pushed` as `× fewer pushed`."""
    text = re.sub(r"(\d)%", r"\1 %", name)
    text = re.sub(r"(\d)s\b", r"\1 s", text)
    text = re.sub(r"^difference ", "difference of ", text)
    return {"rate": "learning rate", "ended": "ended at"}.get(
        text, f"× {text}" if text.startswith("fewer ") else text
    )


def middle(values: Sequence[float]) -> float:
    """Return the median of `values`; NaN if any is NaN, or without values."""
    unknown = not values or any(map(math.isnan, values))
    return math.nan if unknown else median(values)


# -- measures without an argument ------------------------------------------------------------------


def _last(column: str) -> Callable[[Course], float]:
    def of(course: Course) -> float:
        values = course.evaluations[column][-LAST:]
        return mean(values) if values else math.nan

    return of


def _most(course: Course) -> float:
    return max(course.evaluations["accuracy"], default=math.nan)


def _end(course: Course) -> float:
    values = course.evaluations["accuracy"]
    return values[-1] if values else math.nan


def _whole(column: str) -> Callable[[Course], float]:
    def of(course: Course) -> float:
        values = course.progress.get(column)
        return values[-1] if values else math.nan

    return of


def _mean(column: str) -> Callable[[Course], float]:
    return lambda course: _whole(column)(course) / _whole("updates")(course)


def _fact(name: str) -> Callable[[Course], float]:
    return lambda course: course.facts.get(name, math.nan)


def _tenths(value: float) -> str:
    return f"{value:.1f}"


def _yes(value: float) -> str:
    return "yes" if value else "no"


def _milliseconds(value: float) -> str:
    return f"{1e3 * value:.1f} ms"


def percent_of(share: float) -> str:
    """Return `share` in per cent: two decimals from 90 % on, where curves are close, else one."""
    return percent(share, 2 if abs(share) >= 0.9 else 1)


_ACCURACY, _ERROR = "Test accuracy (%)", "Test error (%)"

PLAIN: Mapping[str, Measure] = {
    "ended": Measure(_last("accuracy"), percent_of, f"{_ACCURACY}, at the end", True, True),
    "best": Measure(_most, percent_of, f"{_ACCURACY}, best", True, True),
    "last": Measure(_end, percent_of, f"{_ACCURACY}, last", True, True),
    "error": Measure(lambda c: 1 - _last("accuracy")(c), percent_of, _ERROR, True, True),
    "least error": Measure(lambda c: 1 - _most(c), percent_of, f"{_ERROR}, least", True, True),
    "loss": Measure(_last("loss"), figures, "Test loss, at the end", True),
    "staleness": Measure(_mean("staleness"), _tenths, "Staleness σ (updates), mean"),
    "divisor": Measure(_mean("divisor"), _tenths, "Divisor of the step, mean"),
    "crashes": Measure(_fact("crashes"), figures, "Crashes"),
    "diverged": Measure(_fact("diverged"), _yes, "Diverged"),
    "updates": Measure(_whole("updates"), figures, "Updates"),
    "seconds": Measure(_whole("at"), seconds, "Time (s)"),
    "pushed": Measure(_whole("pushed"), size, "Bytes pushed"),
    "pulled": Measure(_fact("pulled"), size, "Bytes pulled"),
    "both": Measure(_fact("both"), size, "Bytes in both directions"),
    "kept up": Measure(_fact("kept up"), _yes, "Host kept up with the containers"),
    "busy": Measure(_fact("busy"), percent, "Cores of the host in use (%), mean"),
    "late": Measure(_fact("late"), _milliseconds, "Lateness of one packet in a hundred (ms)"),
}
"""Measures without an argument, by name."""


# -- measures with an argument ---------------------------------------------------------------------

_COSTS: Mapping[str, tuple[str, Words, str]] = {
    "updates": ("updates", figures, "Updates"),
    "seconds": ("at", seconds, "Seconds"),
    "pushed": ("pushed", size, "Bytes pushed"),
    "pulled": ("pulled", size, "Bytes pulled"),
    "both": ("both", size, "Bytes in both directions"),
}
"""Column of the evaluations, words and label of a cost, by its name in `COST to X%`."""


def _to(cost: str, share: str) -> Measure:
    """Return the cost until the first evaluation with the accuracy `share`."""
    column, words, label = _COSTS[cost]
    return Measure(
        lambda c: spent(c, column, shares(share)),
        words,
        f"{label} to {_spaced(share)}",
        spread=cost == "seconds",
        so_far=_until_the_end(column),
    )


def _until_the_end(column: str) -> Callable[[Course], float]:
    return lambda course: max(course.evaluations[column], default=math.nan)


def _spaced(share: str) -> str:
    return share.replace("%", " %")


def spent(course: Course, column: str, target: float) -> float:
    """Return `column` at the first evaluation with the accuracy `target`, or infinity."""
    pairs = zip(course.evaluations["accuracy"], course.evaluations[column], strict=True)
    return next((value for accuracy, value in pairs if accuracy >= target - 1e-9), math.inf)


def _counted(share: str, model: str) -> Measure | None:
    """Return the bytes pushed until the accuracy `share` as the byte model `model` counts them."""
    if model not in BYTE_MODELS:
        return None
    label = f"Bytes pushed to {_spaced(share)}, {model}"
    so_far = _until_the_end(model)
    return Measure(lambda c: spent(c, model, shares(share)), size, label, so_far=so_far)


def _pace(share: str) -> Measure:
    def of(course: Course) -> float:
        took = spent(course, "at", shares(share))
        return spent(course, "updates", shares(share)) / took if math.isfinite(took) else math.inf

    return Measure(of, figures, f"Updates a second to {_spaced(share)}")


def _after(time: str) -> Measure:
    """Return the accuracy at `time`, the mean of the last evaluations before it."""

    def of(course: Course) -> float:
        pairs = zip(course.evaluations["at"], course.evaluations["accuracy"], strict=True)
        before = [accuracy for at, accuracy in pairs if at <= float(time)][-SOON:]
        return mean(before) if before else math.nan

    return Measure(of, percent_of, f"{_ACCURACY}, after {time} s", True, True)


def _compression(kind: str, part: str | None, parts: str | None) -> Measure | None:
    """Return dense bytes over bytes pushed, for a kind of layer as the paper counts, or `wire`.

    With `part` and `parts`, only that part of the updates counts, the first being 1.
    """
    number, count = int(part or 1), int(parts or 1)
    if not 1 <= number <= count or PLACES % count:
        return None
    begin, end = (PLACES * place // count for place in (number - 1, number))
    return Measure(lambda c: compression(c, kind, begin, end), figures, f"Compression, {kind}")


def compression(course: Course, kind: str, begin: int, end: int) -> float:
    """Return dense bytes over bytes pushed between two of the `PLACES` of the updates."""
    wire = kind == "wire"
    sent = course.progress.get("pushed" if wire else f"paper {kind}")
    dense = course.facts.get("dense" if wire else f"dense {kind}")
    if sent is None or dense is None:
        return math.nan
    updates = course.progress["updates"][end] - course.progress["updates"][begin]
    counted = sent[end] - sent[begin]
    return dense * updates / counted if counted else math.nan


def _measured(key: str, variable: str) -> Measure:
    """Return the mean of the last four measured updates: entries sent, or the residue's RMS."""

    def of(course: Course) -> float:
        values = course.measured.get(f"{key} {variable}", [])[-LAST:]
        return mean(values) if values else math.nan

    return Measure(of, figures, MEASURED[key].format(variable), key == "residue")


MEASURED: Mapping[str, str] = {"sent": "Entries sent, {}", "residue": "Residue (RMS), {}"}
"""Labels of what is measured of a variable's updates."""

_SHARE = r"(\d+(?:\.\d+)?%)"

PATTERNS: Mapping[str, Callable[..., Measure | None]] = {
    rf"({'|'.join(_COSTS)}) to {_SHARE}": _to,
    rf"updates/s to {_SHARE}": _pace,
    rf"pushed to {_SHARE} as (.+)": _counted,
    r"accuracy after (\d+(?:\.\d+)?)s": _after,
    r"compression of ([\w-]+)(?: (\d+)/(\d+))?": _compression,
    rf"({'|'.join(MEASURED)}) of ([\w/.-]+)": _measured,
}
"""Measures with arguments: a pattern of the name, and what makes the measure of its groups."""

NAMES = (
    f"a measure is {', '.join(PLAIN)}, {'|'.join(_COSTS)} to X%, updates/s to X%, "
    f"pushed to X% as {'|'.join(BYTE_MODELS)}, accuracy after Ns, compression of KIND, "
    f"compression of KIND I/N with N a divisor of {PLACES}, or {'|'.join(MEASURED)} of VARIABLE"
)
