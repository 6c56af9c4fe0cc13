"""Everything the emulator raises on purpose.

* EmulatorError          printed bare by the command line, without a traceback
    + ScenarioError      the file cannot be run as written: yours to mend
    + DataError          a data set is missing, damaged or not what was expected
    + HostError          this machine lacks something: an engine, memory, a kernel feature
    + DeploymentError    Docker, tc or nft refused what we asked
    + WireError          a peer sent bytes that we cannot, or must not, take

Anything else that escapes is a bug of ours and keeps its traceback.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class EmulatorError(Exception):
    """Base of every deliberate error."""

    exit_code = 1


class ScenarioError(EmulatorError):
    """The scenario cannot be run as written; the message lists every mistake and its place."""

    exit_code = 2

    def __init__(self, message: str, mistakes: Sequence[Mapping[str, Any]] = ()) -> None:
        """`mistakes`: `file`, `line`, `place` and `message` of each; empty if none has a place."""
        super().__init__(message)
        nowhere = {"file": None, "line": None, "place": "", "message": message}
        self.mistakes = list(mistakes) or [nowhere]


class DataError(EmulatorError):
    """A data set is missing or damaged; the message says how to get it."""


class HostError(EmulatorError):
    """This machine cannot do what the scenario needs; the message says what to do."""


class DeploymentError(EmulatorError):
    """Docker, tc or nft refused what we asked."""


class WireError(EmulatorError):
    """A peer sent bytes that cannot be read, or that lie."""
