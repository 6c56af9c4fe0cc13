"""One command for a shell that is not there: its words, and what it reads."""

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """To be run as it stands, by root of the network it is about."""

    words: tuple[str, ...]
    text: str = ""
    """What it is given on standard input."""
    lenient: bool = False
    """Whether it may be refused: what it would undo may never have been done."""

    @classmethod
    def of(cls, line: str, lenient: bool = False) -> "Command":
        return cls(tuple(line.split()), lenient=lenient)

    def __str__(self) -> str:
        return shlex.join(self.words)
