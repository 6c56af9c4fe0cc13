"""Commands without a shell, and their execution as root of the network to be changed."""

import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..errors import DeploymentError


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


_TIMEOUT = 30.0
"""Time-out of a process in seconds; most take milliseconds, but kernel modules may be loaded."""

_BATCHING = ("ip", "tc")
"""Tools that read many commands from standard input."""


def apply(commands: Iterable[Command], inside: Sequence[str] = ()) -> list[str]:
    """Run `commands`, each with the words `inside` in front; return their warnings.

    Raises DeploymentError at the first command that fails without being lenient; earlier commands
    stay in effect. Neighbours of one tool share a process: on a busy host each process waits for
    its turn, and a lossy link takes seventeen commands.
    """
    warnings: list[str] = []
    for (tool, lenient), run in groupby(commands, _together):
        neighbours = list(run)
        if len(neighbours) > 1 and tool in _BATCHING and all(map(_is_plain, neighbours)):
            warnings.append(_batch(tool, neighbours, inside, lenient=lenient))
        else:
            warnings += [_attempt(command, inside) for command in neighbours]
    return [line for line in warnings if line]


def output(command: Command) -> str:
    """Run `command`; return its standard output. Raises DeploymentError."""
    process = _process(command.words, command.text, (), command)
    if process.returncode:
        raise DeploymentError(f"{command.words[0]} refused: {command}: {process.stderr.strip()}")
    return process.stdout


def _together(command: Command) -> tuple[str, bool]:
    """Return the properties that the commands of one process have in common."""
    return command.words[0], command.lenient


def _is_plain(command: Command) -> bool:
    """Return whether `command` has no option in front, which a line of a batch may not have."""
    return not command.words[1].startswith("-")


def _batch(tool: str, commands: list[Command], inside: Sequence[str], *, lenient: bool) -> str:
    """Run `commands` of `tool` in a process; return its warning. Raises DeploymentError.

    The process ends at the first command that fails, or passes over it if the commands are lenient.
    """
    words = [tool, *(["-force"] if lenient else []), "-batch", "-"]
    text = "".join(" ".join(command.words[1:]) + "\n" for command in commands)
    process = _process(words, text, inside, f"{tool} -batch")
    errors = process.stderr.strip()
    if lenient:
        return ""
    if process.returncode:
        failed = re.search(r"^Command failed \S*?:(\d+)$", errors, re.MULTILINE)
        command = commands[int(failed[1]) - 1] if failed else f"{tool} -batch"
        raise DeploymentError(f"{tool} refused: {command}: {errors or process.stdout.strip()}")
    return f"{tool} -batch: {errors}" if errors else ""


def _attempt(command: Command, inside: Sequence[str]) -> str:
    """Run a command; return its warning, empty without a warning or for a lenient failure."""
    try:
        return _run(command, inside)
    except DeploymentError:
        if command.lenient:
            return ""
        raise


def _run(command: Command, inside: Sequence[str]) -> str:
    """Run a command; return its warning. Raises DeploymentError."""
    process = _process(command.words, command.text, inside, command)
    errors = process.stderr.strip()
    if process.returncode:
        tool = command.words[0]
        raise DeploymentError(f"{tool} refused: {command}: {errors or process.stdout.strip()}")
    return f"{command}: {errors}" if errors else ""


def _process(
    words: Sequence[str], text: str, inside: Sequence[str], command: object
) -> "subprocess.CompletedProcess[str]":
    """Run a process with the standard input `text`. Raises DeploymentError, naming `command`."""
    try:
        return subprocess.run(
            [*inside, *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
            encoding="utf-8",
        )
    except FileNotFoundError as error:
        raise DeploymentError(f"{error.filename} is not installed, needed for: {command}") from None
    except subprocess.TimeoutExpired:
        tool = words[0]
        raise DeploymentError(f"{tool} did not return in {_TIMEOUT:.0f} s: {command}") from None
