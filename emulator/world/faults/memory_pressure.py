"""The fault `memory`: another process on the device takes memory, until it is released."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ...units import Checked, Fraction
from ..verbs import Action


def _check_share(takes: Fraction) -> None:
    if not takes > 0:
        raise ValueError(f"takes is {takes}: it must be above zero")


@dataclass(frozen=True, kw_only=True)
class MemoryPressure:
    """Memory: another process takes memory; a worker for which too little is left is killed."""

    kind: Literal["memory"] = "memory"
    takes: Annotated[Fraction, Checked(_check_share)]
    """Share of the device's memory limit that the other process takes, above zero, for example
    `70%`."""

    def __post_init__(self) -> None:
        _check_share(self.takes)

    def begin(self, node: str) -> Action:
        return Action("press", node, self.kind, {"share": float(self.takes)})

    def end(self, node: str) -> Action:
        return Action("release", node, self.kind)
