"""Forwards a socket of this machine to an engine of another, by the program `ssh`.

The package `docker` speaks SSH by itself only where the package paramiko is installed, which reads
the user's keys and configuration in its own way.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from ....errors import HostError

SCHEME = "ssh://"

_SOCKET = "/var/run/docker.sock"
_PATIENCE = 20
"""Seconds in which the other machine answers."""
_LOOK = 0.05


@contextmanager
def forwarded(address: str) -> Iterator[str]:
    """Yield the address of a socket that leads to the engine at `address` while the block lasts.

    `address` is `ssh://[USER@]HOST[:PORT][/SOCKET]`; the socket is Docker's usual one without a
    path. `ssh` asks for no password. Raises HostError if it does not connect.
    """
    # short, as the paths of sockets may have 107 bytes only
    with TemporaryDirectory(prefix="emulate-") as folder:
        socket = Path(folder, "docker.sock")
        with _started(_command(address, socket)) as process:
            try:
                _await(process, socket, address)
                yield f"unix://{socket}"
            finally:
                process.terminate()


def _command(address: str, socket: Path) -> list[str]:
    """Return the call of `ssh` that forwards `socket`. Raises HostError for another `address`."""
    try:
        parts = urlsplit(address)
        host, user, port = parts.hostname, parts.username, parts.port
    except ValueError as error:
        raise HostError(f"{address} is no address of an engine: {error}") from None
    if not host or parts.password:
        raise HostError(f"{address} is no address of an engine: write ssh://USER@HOST")
    options = ("BatchMode=yes", "ExitOnForwardFailure=yes", f"ConnectTimeout={_PATIENCE}")
    command = ["ssh", "-N", "-T", *(word for option in options for word in ("-o", option))]
    command += ["-L", f"{socket}:{parts.path if parts.path.strip('/') else _SOCKET}"]
    command += ["-l", user] if user else []
    command += ["-p", str(port)] if port else []
    return [*command, "--", host]


def _started(command: list[str]) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        raise HostError("this machine has no program `ssh`: install OpenSSH's client") from None


def _await(process: "subprocess.Popen[str]", socket: Path, address: str) -> None:
    """Wait until `socket` is there, which `process` makes once it is connected."""
    while not socket.exists():
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
            said = process.stderr.read().strip() if process.stderr else ""
            raise HostError(f"{address} cannot be reached: {said or 'ssh says nothing'}")
