"""A device loses the WAN for a while; its processes live on."""

from dataclasses import dataclass
from typing import Literal

from ..world.verbs import Action


@dataclass(frozen=True)
class Partition:
    """Nothing gets through in either direction; connections survive if it is short enough."""

    kind: Literal["partition"] = "partition"

    def begin(self, node: str) -> Action:
        return Action("sever", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("mend", node, self.kind)
