"""The fault `slow`: a device has less processor time, as when it is hot or shared."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ...units import Checked, Fraction
from ..verbs import Action


def _check_factor(factor: Fraction) -> None:
    if not factor > 0:
        raise ValueError(f"factor is {factor}: it must be above zero")


@dataclass(frozen=True, kw_only=True)
class Slow:
    """Slow: the device's CPU quota is multiplied by `factor`; one without a quota has a core."""

    kind: Literal["slow"] = "slow"
    factor: Annotated[Fraction, Checked(_check_factor)]
    """Share of its processor time that the device keeps, above zero, for example `25%`."""

    def __post_init__(self) -> None:
        _check_factor(self.factor)

    def begin(self, node: str) -> Action:
        return Action("throttle", node, self.kind, {"factor": float(self.factor)})

    def end(self, node: str) -> Action:
        return Action("unthrottle", node, self.kind)
