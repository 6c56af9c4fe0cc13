"""All that a runtime can be told to do to a running world.

Faults speak in these verbs only, so a new fault needs no new runtime code.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Verb: TypeAlias = Literal["kill", "start", "sever", "mend"]


@dataclass(frozen=True)
class Action:
    """One verb done to one node.

    * `kill`: SIGKILL; nothing in the device's memory survives, and its network goes with it.
    * `start`: boot it again, from nothing.
    * `sever`: let nothing through to the node or from it; its processes and connections live on.
    * `mend`: let everything through again, on the node's own link.
    """

    verb: Verb
    node: str
    fault: str
    """The kind of fault that asks for it."""
