"""The fault `server-crash`: the server's process dies and comes back from its disk."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..verbs import Action


@dataclass(frozen=True)
class ServerCrash:
    """Server crash: the server's process is killed (SIGKILL), and is started again when the fault
    ends, with the state that `server.durability` has kept. Connections break at once."""

    strikes_server: ClassVar[bool] = True
    kind: Literal["server-crash"] = "server-crash"

    def begin(self, node: str) -> Action:
        return Action("kill", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("start", node, self.kind)
