"""Orders: lines of JSON from the conductor to a supervisor, and from a supervisor to its part.

A supervisor makes some orders itself, for faults that the device draws. To the part it writes the
settings of the faults that the part plays, each a `PartSetting`; a setting of null ends the fault.
The part reads its standard input when it looks at the settings.
"""

import os
import select
from collections.abc import Mapping
from typing import IO, Any, TypeAlias

import msgspec

from ..world.verbs import Setting


class Order(msgspec.Struct, frozen=True, tag_field="order", tag=str.lower, omit_defaults=True):
    """An order; its line names the kind."""


class Do(Order, frozen=True):
    """Do a verb of a fault."""

    verb: str
    fault: str = ""
    """Kind of the fault."""
    setting: Setting | None = None
    planned: float | None = None
    """When the timeline has the verb; None: the device has drawn the fault itself."""
    end: str = ""
    """Verb that ends the drawn fault."""
    lasts: float | None = None
    """Seconds of the drawn fault; None: it has no end of its own."""


class StopPart(Order, frozen=True):
    """End the part."""

    reason: str = "canceled"
    """A key of `config.ENDINGS`."""


class HoldMessages(Order, frozen=True):
    """Hold back the messages of `node`, whose link has changed: an order to the server's."""

    node: str
    delay: dict[str, Any]


class LetBegin(Order, frozen=True):
    """Let the run begin, as far as the conductor is concerned: an order to the server's."""


class Zero(Order, frozen=True):
    """The run's zero is `at`, a time of the node's clock: the link changes from then on."""

    at: float


class QuotaAnswer(Order, frozen=True):
    """The CPU quota has been changed as the supervisor has asked."""

    lifted: bool
    """Whether it is lifted; otherwise the quota in force is back."""
    press: int
    """Number of the change of memory for which the supervisor asked."""


class Forked(Order, frozen=True):
    """The part has been forked, as the supervisor has asked."""

    pid: int | None
    """As the container counts; None: it could not be forked, and has to be executed."""


class ProgramDone(Order, frozen=True):
    """The engine has done to the program's container what the sidecar asked for."""

    ask: int
    """Number of the request."""


class ProgramEnded(Order, frozen=True):
    """The program's container has ended."""

    life: int
    """Number of its start, from 0."""
    code: int
    """Exit code, negative for a signal."""
    cause: str = ""
    """As `memory_cause` returns it."""


class ProgramUse(Order, frozen=True):
    """The program has used the processor for `seconds` since its start."""

    life: int
    seconds: float


class ReviveProgram(Order, frozen=True):
    """The memory that a fault took is back: start a program that ended for want of it."""


AnyOrder: TypeAlias = (
    Do
    | StopPart
    | HoldMessages
    | LetBegin
    | Zero
    | QuotaAnswer
    | Forked
    | ProgramDone
    | ProgramEnded
    | ProgramUse
    | ReviveProgram
)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(AnyOrder).decode


class LineReader:
    """Reads the lines that another process writes to a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, b""

    def read(self) -> list[bytes] | None:
        """Return the complete lines that are not empty; None once the other end has been closed.

        Block while the pipe is empty: call it after `select` has found data.
        """
        data = os.read(self._descriptor, 65536)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line]


# -- from the supervisor to the part ---------------------------------------------------------------

HOLD = "hold"
"""Name under which the server's settings have the delays that faults have changed, by node. It is
no verb."""


BEGINS = "begins"
"""Name under which the server's settings have that the conductor lets the run begin. It is no
verb."""


PAUSED = "paused"
"""Name under which a worker's settings have the seconds of its pauses, see `paused`. It is no
verb."""


def paused(settings: Mapping[str, Setting]) -> float:
    """Return the emulated seconds for which faults have paused the part, in all its life."""
    seconds: float = settings.get(PAUSED, {}).get("seconds", 0.0)
    return seconds


class PartSetting(msgspec.Struct, frozen=True):
    """The setting of a verb from now on; None ends the fault."""

    verb: str
    setting: Setting | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PartSetting).decode


class PartOrders:
    """The settings in force on this part, by verb."""

    def __init__(self, source: int = 0) -> None:
        """Read orders from the file descriptor `source`."""
        self._source, self._lines = source, LineReader(source)
        self._settings: dict[str, Setting] = {}

    def settings(self) -> dict[str, Setting]:
        """Take the orders that have come; return the settings in force."""
        while select.select([self._source], [], [], 0)[0]:
            lines = self._lines.read()
            if lines is None:  # the supervisor is gone, and ends this process
                break
            for line in lines:
                self._take(_decode(line))
        return self._settings

    def _take(self, order: PartSetting) -> None:
        if order.setting is None:
            self._settings.pop(order.verb, None)
        else:
            self._settings[order.verb] = order.setting


class PartSettings:
    """The supervisor's end: the settings in force, told to each incarnation of the part."""

    def __init__(self) -> None:
        self._settings: dict[str, Setting] = {}
        self._part: IO[bytes] | None = None

    def booted(self, part: IO[bytes] | None) -> None:
        """Tell the settings to a part whose standard input is `part`."""
        self._part = part
        for verb, setting in self._settings.items():
            self._tell(verb, setting)

    def of(self, verb: str) -> Setting | None:
        """Return the setting of `verb` in force; None: none is."""
        return self._settings.get(verb)

    def change(self, verb: str, setting: Setting | None) -> None:
        """Put the `setting` of `verb` into force; None ends the fault."""
        if setting is None:
            self._settings.pop(verb, None)
        else:
            self._settings[verb] = setting
        self._tell(verb, setting)

    def _tell(self, verb: str, setting: Setting | None) -> None:
        if self._part is None:
            return
        try:
            self._part.write(_encode(PartSetting(verb, setting)) + b"\n")
        except BrokenPipeError:  # the part has died; the next one is told when it boots
            self._part = None
