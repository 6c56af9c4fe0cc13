"""The fault `byzantine`: a device sends well-formed lies in place of its gradients."""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from ...units import Checked
from ..verbs import Action

_STRENGTHS = {"sign-flip": 1.0, "scale": 10.0, "noise": 10.0, "replay": 1.0, "same-value": 1.0}
"""Default of `by` for each lie."""
_LARGEST = 1e6


def _check_strength(by: float) -> None:
    if not (isfinite(by) and 0 < abs(by) <= _LARGEST):
        raise ValueError(f"by is {by:g}: write a number up to 1,000,000 that is not 0")


@dataclass(frozen=True)
class Byzantine:
    """Byzantine: the device lies, and sends a false gradient in place of the computed one.

    The lies are those of Blanchard et al. (2017), Li et al. (2019) and Wu et al. (2020).
    """

    lie: Literal["sign-flip", "scale", "noise", "replay", "same-value"] = "sign-flip"
    """Lie in place of the gradient g: `sign-flip` -by · g, `scale` by · g, `noise` g plus normal
    noise of `by` times the root mean square of g, `replay` by times the first gradient under the
    fault, again and again, `same-value` `by` in every entry."""
    by: Annotated[float, Checked(_check_strength)] | None = None
    """Strength of the lie; by default 10 for `scale` and `noise`, 1 for the other lies."""
    kind: Literal["byzantine"] = "byzantine"

    def __post_init__(self) -> None:
        if self.by is not None:
            _check_strength(self.by)

    def begin(self, node: str) -> Action:
        strength = _STRENGTHS[self.lie] if self.by is None else float(self.by)
        return Action("falsify", node, self.kind, {"lie": self.lie, "by": strength})

    def end(self, node: str) -> Action:
        return Action("reform", node, self.kind)
