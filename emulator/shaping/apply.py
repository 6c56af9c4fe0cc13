"""Execution of commands, in order, as root of the network to be changed."""

import subprocess
from collections.abc import Iterable, Sequence

from ..errors import DeploymentError
from .command import Command

_TIMEOUT = 30.0
"""Time-out of a command in seconds; most take milliseconds, but kernel modules may be loaded."""


def apply(commands: Iterable[Command], inside: Sequence[str] = ()) -> list[str]:
    """Run `commands`, each with the words `inside` in front; return their warnings.

    Raises DeploymentError at the first command that fails without being lenient; earlier commands
    stay in effect.
    """
    warnings = [_attempt(command, inside) for command in commands]
    return [line for line in warnings if line]


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
    tool = command.words[0]
    try:
        process = subprocess.run(
            [*inside, *command.words],
            input=command.text,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except FileNotFoundError as error:
        raise DeploymentError(f"{error.filename} is not installed, needed for: {command}") from None
    except subprocess.TimeoutExpired:
        raise DeploymentError(f"{tool} did not return in {_TIMEOUT:.0f} s: {command}") from None
    errors = process.stderr.strip()
    if process.returncode:
        raise DeploymentError(f"{tool} refused: {command}: {errors or process.stdout.strip()}")
    return f"{command}: {errors}" if errors else ""
