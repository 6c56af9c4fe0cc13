"""A command without a shell: words and standard input."""

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command to run as root of the network to be changed."""

    words: tuple[str, ...]
    text: str = ""
    """Standard input of the command."""
    lenient: bool = False
    """Whether failure is harmless, as the rule to undo may never have been set."""

    @classmethod
    def of(cls, line: str, lenient: bool = False) -> "Command":
        """Return the command with the words of `line`."""
        return cls(tuple(line.split()), lenient=lenient)

    def __str__(self) -> str:
        return shlex.join(self.words)
