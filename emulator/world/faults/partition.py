"""The fault `partition`: a device loses the WAN while its processes live on."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..verbs import Action


@dataclass(frozen=True)
class Partition:
    """Partition: the device is cut off both ways; connections survive a short partition."""

    kind: Literal["partition"] = "partition"
    strikes_links: ClassVar[bool] = True

    def begin(self, node: str) -> Action:
        return Action("sever", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("mend", node, self.kind)
