"""Exceptions that the emulator raises on purpose, and the words of their messages.

* EmulatorError          the command line prints its message without a traceback
    + ScenarioError      the scenario file cannot be run as written: its author mends it
        + PythonFileError    a Python file that the scenario names cannot be used
    + DataError          a data set is missing, damaged or different from its digest
    + HostError          this machine lacks something: an engine, memory, a kernel feature
    + DeploymentError    Docker, tc or nft refused a request
    + WireError          a peer sent bytes that are malformed or not allowed

A MisplacedKeysError becomes lines of a ScenarioError. Any other exception that escapes is a bug of
the emulator and keeps its traceback.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

_LONGEST = 60
"""Characters that a message quotes of a text."""


class EmulatorError(Exception):
    """Base class of every deliberate error."""

    exit_code = 1
    """Exit status of the command line after this error."""


class ScenarioError(EmulatorError):
    """The scenario cannot be run as written; the message lists every mistake with its place."""

    exit_code = 2

    def __init__(self, message: str, mistakes: Sequence[Mapping[str, Any]] = ()) -> None:
        """Keep `mistakes`, each with `file`, `line`, `place` and `message`.

        Without `mistakes`, the list has a single entry: the whole `message`, without file or line.
        """
        super().__init__(message)
        self.mistakes = list(mistakes) or [unplaced(message)]


class PythonFileError(ScenarioError, ValueError):
    """A Python file that a scenario names cannot be used; the message has its file and line."""

    def __init__(self, file: object, line: int | None, message: str) -> None:
        """Take None for a `file` or `line` that does not exist."""
        where = ":".join(str(part) for part in (file, line) if part is not None)
        path = None if file is None else str(file)
        mistake = {"file": path, "line": line, "place": "", "message": message}
        super().__init__(": ".join(filter(None, (where, message))), [mistake])


class DataError(EmulatorError):
    """A data set is missing or damaged; the message says how to get it."""


class HostError(EmulatorError):
    """This machine cannot run the scenario; the message says how to change that."""


class DeploymentError(EmulatorError):
    """Docker, tc or nft refused a request."""


class WireError(EmulatorError):
    """A peer sent bytes that are malformed or contradict the protocol."""


class MisplacedKeysError(ValueError):
    """Keys of an entry contradict each other; the error has a message for every wrong key."""

    def __init__(self, conflicts: Collection[tuple[str | tuple[str | int, ...], str]]) -> None:
        texts = (f"{key}: {message}".lstrip(": ") for key, message in conflicts)
        super().__init__("; ".join(texts))
        self.conflicts = tuple(conflicts)
        """Key, or the keys on the way to a value inside, and message; the key is empty for a
        mistake of the whole entry."""


def unplaced(message: str, place: str = "") -> dict[str, Any]:
    """Return the mistake of `message`, which has no file and no line."""
    return {"file": None, "line": None, "place": place, "message": message}


def mistakes(error: EmulatorError) -> list[Mapping[str, Any]]:
    """Return the mistakes of `error`; one without a place if it is no ScenarioError."""
    return error.mistakes if isinstance(error, ScenarioError) else [unplaced(str(error))]


def shortened(value: object) -> str:
    """Return `value` quoted for a message, cut after 60 characters."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def counted(number: int, thing: str) -> str:
    """Return `number` of `thing`, a noun in the singular, as `1 layer` or `3 layers`."""
    return f"{number} {thing}{'s' if number != 1 else ''}"


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first `most` of `texts` and the number of the others: `a, b and 3 more`."""
    others = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {others} more" if others > 0 else "")


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ` (did you mean 'topk'?)` with the known name nearest to `word`, or an empty text."""
    from difflib import get_close_matches  # only here: every device loads this module

    names = list(known)
    spelt = {_letters(name): name for name in reversed(names)}
    same = spelt.get(_letters(str(word)))  # as `FedAvg`, `MNIST` or `ada_comp`
    close = [same] if same else get_close_matches(str(word), names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _letters(name: str) -> str:
    """Return `name` in lower case without hyphens, underscores and spaces."""
    return name.lower().translate({ord(sign): None for sign in "-_ "})
