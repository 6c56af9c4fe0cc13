"""All that a runtime can be told to do to a running world.

Faults speak in these verbs only, so a new fault needs no new runtime code.
"""

from collections import Counter
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


_BEGINNING: dict[Verb, Verb] = {"kill": "kill", "start": "kill", "sever": "sever", "mend": "sever"}
"""The verb that begins what each verb begins or ends."""


class Strikes:
    """How many faults of each kind hold one node at this moment.

    Faults of one kind that overlap are one: it begins with the first and ends with the last.
    """

    def __init__(self) -> None:
        self._holding: Counter[Verb] = Counter()

    @property
    def off(self) -> bool:
        return self._holding["kill"] > 0

    @property
    def severed(self) -> bool:
        return self._holding["sever"] > 0

    def changes(self, verb: Verb) -> bool:
        """Count the verb in; whether it changes anything, so that it must be done."""
        begun = _BEGINNING[verb]
        held = self._holding[begun]
        self._holding[begun] = held + 1 if verb == begun else max(0, held - 1)
        return held == (0 if verb == begun else 1)
