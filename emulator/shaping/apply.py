"""Runs commands, in order, as root of the network that they are about."""

import subprocess
from collections.abc import Iterable, Sequence

from ..errors import DeploymentError
from .command import Command

_PATIENCE = 30.0
"""Seconds; each takes a few milliseconds, unless a kernel module has to be loaded."""


def apply(commands: Iterable[Command], inside: Sequence[str] = ()) -> list[str]:
    """Run all, each behind the words `inside`; what they had to say, if it was no error.

    Raises DeploymentError at the first that fails and may not; those before it stay done.
    """
    said = [_attempt(command, inside) for command in commands]
    return [line for line in said if line]


def _attempt(command: Command, inside: Sequence[str]) -> str:
    try:
        return _run(command, inside)
    except DeploymentError:
        if command.lenient:
            return ""
        raise


def _run(command: Command, inside: Sequence[str]) -> str:
    tool = command.words[0]
    try:
        done = subprocess.run(
            [*inside, *command.words],
            input=command.text,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError as error:
        raise DeploymentError(f"{error.filename} is not installed, needed for: {command}") from None
    except subprocess.TimeoutExpired:
        raise DeploymentError(f"{tool} did not return in {_PATIENCE:.0f} s: {command}") from None
    said = done.stderr.strip()
    if done.returncode:
        raise DeploymentError(f"{tool} refused: {command}: {said or done.stdout.strip()}")
    return f"{command}: {said}" if said else ""
