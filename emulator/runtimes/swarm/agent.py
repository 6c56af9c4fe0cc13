"""The agent of a host: leads a conductor on another host to this host's engine.

The process of the container `python -m emulator.runtimes.swarm.agent PORT`. It holds the streams of
the conductor to the devices' containers, so when it dies the engine ends their standard input, and
their supervisors end them. A conductor that is silent loses its streams in the same way. Services
of Docker 20.10 cannot forbid their processes to gain privileges: the agent forbids it to itself.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import time
from dataclasses import astuple
from pathlib import Path, PurePosixPath
from typing import Any

from ...machine.host import Host, Load
from ...machine.kernel_tables import READABLE
from ...node.forking.kernel_calls import confine
from ...transport.secrets import read_keys
from ...transport.tunnel.agent_end import AgentEnd
from ...transport.tunnel.byte_streams import connected
from ...transport.tunnel.placed_files import Placed, unpack

SOCKET = "/var/run/docker.sock"
"""The engine's socket, in the agent's container."""
FILES = Path("/files")
"""Folder of the files that containers of this host mount: a volume of the agent's container."""
SECRET = Path("/run/secrets/agent")
"""The agent's keys, in its container."""
DIAL = 2.0
"""Seconds in which an engine takes a connection."""
IDLE = 60.0
"""Seconds without a conductor after which the agent ends."""


class Hands:
    """The answers of an agent to its conductor's questions."""

    def __init__(self, files: Path = FILES) -> None:
        self._files, self._load = files, Load()
        self._sampling = False

    def answer(self, what: str, facts: dict[str, Any], payload: bytes) -> dict[str, Any]:
        """Return the answer. Raises ValueError for an unknown question, OSError if the disk does
        not do as it is told."""
        match what:
            case "clock":
                return {"now": time.monotonic(), **self._loads(int(facts.get("since", 0)))}
            case "engine":
                self._dial()
                return {}
            case "tables":
                return _tables()
            case "about":
                return {"cores": os.cpu_count() or 1}
            case "put":
                self._put(str(facts["to"]), unpack(payload))
                return {}
            case "forget":
                self._forget(str(facts["to"]))
                return {}
        raise ValueError(f"an agent of this version does not know the question {what!r}")

    def _dial(self) -> None:
        """Raise OSError if no engine listens."""
        with socket.socket(socket.AF_UNIX) as engine:
            engine.settimeout(DIAL)
            engine.connect(SOCKET)

    def _put(self, to: str, placed: Placed) -> None:
        for name, mode, user, group, content, at in placed:
            path = self._inside(to, name)
            if content is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("r+b" if at else "wb") as file:
                    file.seek(at)
                    file.write(content)
            os.chown(path, user, group)
            path.chmod(mode)

    def _forget(self, to: str) -> None:
        shutil.rmtree(self._inside(to), ignore_errors=True)

    def _inside(self, *names: str) -> Path:
        """Return the path of the files below the agent's folder. Raises ValueError outside."""
        inner = PurePosixPath(*names)
        if inner.is_absolute() or ".." in inner.parts:
            raise ValueError(f"{inner} is not below the folder of the agent's files")
        return self._files / inner

    def _loads(self, since: int) -> dict[str, Any]:
        """Return the samples of the host's load from the number `since` on."""
        if not self._sampling:
            self._sampling = True
            self._load.begin()
        known = slice(since, len(self._load.busy))  # whose samples come last
        return {"busy": self._load.busy[known], "pressure": self._load.pressure[known]}


def _tables() -> dict[str, Any]:
    """Return the free memory of the host, and those of its tables that can be read from here."""
    read = {name: supply() for name, supply in READABLE.items()}
    tables = {name: astuple(each) for name, each in read.items() if each is not None}
    return {"memory": Host.here().available, "tables": tables}


async def connect() -> socket.socket:
    """Open a connection to the engine."""
    return await connected(SOCKET)


async def serve(port: int) -> None:
    """Serve until a SIGTERM, or until no conductor has been heard for a while."""
    keys = read_keys(SECRET.read_bytes())
    end = AgentEnd(f"tcp://*:{port}", keys, connect, Hands().answer)
    serving = asyncio.ensure_future(end.serve())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    while not serving.done():
        await asyncio.wait([serving], timeout=1.0)
        if time.monotonic() - end.heard > IDLE:
            serving.cancel()
    if not serving.cancelled():
        serving.result()  # raises what ended it


def main() -> None:
    confine(())  # before any thread begins, as each has it by itself
    asyncio.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
