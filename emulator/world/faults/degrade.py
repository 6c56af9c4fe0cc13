"""The fault `degrade`: a device's link gets slower, later or lossier, or becomes another link."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ...units import Checked, Fraction, Seconds
from ..links import reshaping
from ..links.link import Link
from ..verbs import Action


def _check_rate(rate: Fraction) -> None:
    if not rate > 0:
        raise ValueError("rate 0%: a rate is above zero; to cut a link, use a partition")


@dataclass(frozen=True, kw_only=True)
class Degrade:
    """Degrade: the device's link is worse in both directions, or another link, for a time."""

    kind: Literal["degrade"] = "degrade"
    strikes_links: ClassVar[bool] = True
    rate: Annotated[Fraction, Checked(_check_rate)] | None = None
    """Share of the link's rate that is left, for example `25%`."""
    delay: Seconds | None = None
    """Delay of each direction in addition to the link's own."""
    loss: Fraction | None = None
    """Share of packets that are lost in each direction, in addition to the link's own loss."""
    link: Link | None = None
    """Link in place of the device's own: a preset as `2g`, or its sides. It stands alone."""

    def __post_init__(self) -> None:
        changes = [name for name in ("rate", "delay", "loss") if getattr(self, name) is not None]
        if not changes and self.link is None:
            raise ValueError("say how the link changes: give `rate`, `delay`, `loss` or `link`")
        if changes and self.link is not None:
            raise ValueError(f"`link` replaces the whole link: leave out {' and '.join(changes)}")
        if self.link is not None and self.link.changes:
            raise ValueError("`link` of a fault has no steps and no trace")
        if self.rate is not None:
            _check_rate(self.rate)
        if (schedule := getattr(super(), "__post_init__", None)) is not None:
            schedule()

    def begin(self, node: str) -> Action:
        return Action("reshape", node, self.kind, self._setting)

    def end(self, node: str) -> Action:
        return Action("restore", node, self.kind)

    @property
    def _setting(self) -> dict[str, Any]:
        if self.link is not None:
            return {"link": reshaping.plain(self.link)}
        changes = {"rate": self.rate, "delay": self.delay, "loss": self.loss}
        return {name: float(value) for name, value in changes.items() if value is not None}
