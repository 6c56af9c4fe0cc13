"""Orders from the supervisor to the part: the settings of the faults that the part plays.

The supervisor writes a `PartSetting` as a line of JSON to the standard input of the part; a setting
of null ends the fault. The part reads the lines when it looks at the settings.
"""

import select
from typing import IO

import msgspec

from ...world.verbs import Setting
from ..line_reader import LineReader

HOLD = "hold"
"""Name under which the server's settings have the delays that faults have changed, by node. It is
no verb."""


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
