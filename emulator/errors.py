"""Everything the emulator raises on purpose.

* EmulatorError          printed bare by the command line, without a traceback
    + ScenarioError      the file cannot be run as written: yours to mend
    + DataError          a data set is missing, damaged or not what was expected
    + HostError          this machine lacks something: an engine, memory, a kernel feature
    + DeploymentError    Docker, tc or nft refused what we asked
    + WireError          a peer sent bytes that we cannot, or must not, take

Anything else that escapes is a bug of ours and keeps its traceback.
"""


class EmulatorError(Exception):
    """Base of every deliberate error."""

    exit_code = 1


class ScenarioError(EmulatorError):
    """The scenario cannot be run as written; the message lists every mistake and its place."""

    exit_code = 2


class DataError(EmulatorError):
    """A data set is missing or damaged; the message says how to get it."""


class HostError(EmulatorError):
    """This machine cannot do what the scenario needs; the message says what to do."""


class DeploymentError(EmulatorError):
    """Docker, tc or nft refused what we asked."""


class WireError(EmulatorError):
    """A peer sent bytes that cannot be read, or that lie."""
