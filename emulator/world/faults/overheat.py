"""The fault `overheat`: the longer a device computes, the hotter it is, and the slower it gets."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from ...units import Checked, Seconds
from ..verbs import Action, Setting

VERB = "heat"
"""The verb whose setting says how fast the device heats up, and how slow it gets."""

_LARGEST = 1e3


def _check_slowdown(factor: float) -> None:
    if not (isfinite(factor) and 1 < factor <= _LARGEST):
        raise ValueError(f"slowdown is {factor:g}: write a number above 1, up to 1,000")


def _check_time(time: Seconds) -> None:
    if not time > 0:
        raise ValueError("it must be above zero")


@dataclass(frozen=True, kw_only=True)
class Overheat:
    """Overheat: the device's gradients take longer while it is hot, up to `slowdown` times.

    The heat grows from 0 to 1 while the device computes for `heats`, and falls back to 0 while it
    computes nothing for `cools`. A wait for the CPU quota is computing, as a quota stands for a
    slower processor. A device boots cold.
    """

    kind: Literal["overheat"] = "overheat"
    slowdown: Annotated[float, Checked(_check_slowdown)] = 2.0
    """Factor by which a gradient takes longer at full heat, above 1; in proportion below."""
    heats: Annotated[Seconds, Checked(_check_time)]
    """Time of computing in which a cold device reaches full heat, for example `1min`."""
    cools: Annotated[Seconds, Checked(_check_time)]
    """Time without computing in which a device at full heat gets cold, for example `2min`."""

    def __post_init__(self) -> None:
        _check_slowdown(self.slowdown)
        for time in (self.heats, self.cools):
            _check_time(time)

    def begin(self, node: str) -> Action:
        times = {"heats": float(self.heats), "cools": float(self.cools)}
        return Action(VERB, node, self.kind, {"slowdown": float(self.slowdown), **times})

    def end(self, node: str) -> Action:
        return Action("cool", node, self.kind)


class Heat:
    """The heat of one incarnation of a device, from 0 to 1."""

    def __init__(self) -> None:
        self._heat = 0.0
        self._until = 0.0  # the time to which `_heat` belongs

    def slowdown(self, now: float, setting: Setting) -> float:
        """Return the factor by which a computation that begins at `now` takes longer.

        `setting` is that of the verb `heat` in force.
        """
        self._cool(now, setting)
        factor: float = 1 + (setting["slowdown"] - 1) * self._heat
        return factor

    def computed(self, began: float, ended: float, still: float, setting: Setting) -> None:
        """Heat up by a computation from `began` to `ended`; `still` seconds of it were a pause."""
        self._cool(began, setting)
        self._heat = min(1.0, self._heat + (ended - began - still) / setting["heats"])
        self._until = ended

    def _cool(self, now: float, setting: Setting) -> None:
        idle = max(0.0, now - self._until)
        self._heat = max(0.0, self._heat - idle / setting["cools"])
        self._until = max(self._until, now)
