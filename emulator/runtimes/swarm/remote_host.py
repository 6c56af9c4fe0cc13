"""Another host of a run: its engine behind an agent, and the files of its containers."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import requests
from docker import DockerClient
from docker.errors import DockerException
from requests.adapters import BaseAdapter

from ...errors import DeploymentError
from ...transport.tunnel.conductor_end import Tunnel, TunnelError
from ...transport.tunnel.placed_files import BATCH, Placed, pack
from ..docker.engine.hosts import EngineHost, HostClock
from .agent import FILES

ANSWER = 5.0
"""Seconds in which a host says whether its engine is there."""
TRANSFER = 300.0
"""Seconds in which a batch of files reaches a host."""


ENGINE_SCHEME = "http+docker://"
"""Scheme under which Docker's client has its connections to a Unix socket."""


class _ThroughTunnel(BaseAdapter):
    """Sends requests by the adapter `inner`; an error has the reason of the tunnel, too.

    Without it an engine that is gone is a connection that was aborted, here as there.
    """

    def __init__(self, inner: BaseAdapter, tunnel: Tunnel) -> None:
        super().__init__()
        self._inner, self._tunnel = inner, tunnel

    def send(self, *request: Any, **options: Any) -> requests.Response:
        begun = time.monotonic()
        try:
            return self._inner.send(*request, **options)
        except requests.ConnectionError as error:
            if why := self._tunnel.lost or self._tunnel.broken(begun):
                raise requests.ConnectionError(f"its connection has ended: {why}") from error
            raise

    def close(self) -> None:
        self._inner.close()


class RemoteHost(EngineHost):
    """A host whose engine and clock are reached through a tunnel to its agent."""

    def __init__(
        self, name: str, cores: int, tunnel: Tunnel, client: DockerClient, agent: str
    ) -> None:
        """`client` goes through the tunnel; `agent` is the id of the agent's container."""
        super().__init__(client, name)
        self.load, self.cores, self.tunnel = tunnel.load, cores, tunnel
        self._folder = _mounted(client, agent)
        client.api.mount(
            ENGINE_SCHEME, _ThroughTunnel(client.api.get_adapter(ENGINE_SCHEME), tunnel)
        )
        self._placed: dict[tuple[str, Path], Path] = {}
        self._lock = Lock()
        self._lost = ""

    def place(self, source: Path, run: str) -> Path:
        """Send `source` to the host, once for a run; return where its engine finds it."""
        with self._lock:
            known = self._placed.get((run, source))
            if known is None:
                to = f"{run}/{len(self._placed)}"
                try:
                    for batch in _batches(source):
                        self.tunnel.ask("put", pack(batch), TRANSFER, to=to)
                except OSError as error:
                    raise DeploymentError(f"sending {source} to {self.name}: {error}") from error
                known = self._placed[run, source] = self._folder / to / source.name
        return known

    def forget(self, run: str) -> None:
        with self._lock:
            self._placed = {key: at for key, at in self._placed.items() if key[0] != run}
        with suppress(TunnelError):
            self.tunnel.ask("forget", to=run)

    def at_home(self, reading: float) -> float:
        return reading - self.tunnel.offset.seconds

    def away(self, reading: float) -> float:
        return reading + self.tunnel.offset.seconds

    @property
    def clock(self) -> HostClock:
        offset = self.tunnel.offset
        return HostClock(round(offset.seconds, 6), round(offset.uncertainty, 6))

    def lost(self) -> str:
        if not self._lost:
            if self.tunnel.lost:
                self._lost = f"its host {self.name} is lost: {self.tunnel.lost}"
            else:
                try:
                    self.tunnel.ask("engine", timeout=ANSWER)
                except TunnelError as error:
                    self._lost = f"its host {self.name} is lost: {error}"
        return self._lost

    def close(self) -> None:
        with suppress(DockerException, requests.RequestException):
            self.client.close()
        self.tunnel.close()


def _mounted(client: DockerClient, agent: str) -> Path:
    """Return the path at the host of the folder with the files of the `agent`."""
    mounts = client.api.inspect_container(agent)["Mounts"]
    return Path(next(each["Source"] for each in mounts if each["Destination"] == str(FILES)))


def _batches(source: Path) -> Iterator[Placed]:
    """Yield `source` and all files below it in batches."""
    batch: Placed = []
    size = 0
    for piece in _pieces(source):
        batch.append(piece)
        size += len(piece[4] or b"")
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _pieces(source: Path) -> Iterator[tuple[str, int, int, int, bytes | None, int]]:
    """Yield the entries of `source` and all below it, with the modes and owners of this machine."""
    for path in _below(source):
        about = path.stat()
        name, mode = str(path.relative_to(source.parent)), about.st_mode & 0o777
        if path.is_dir():
            yield name, mode, about.st_uid, about.st_gid, None, 0
            continue
        at = 0
        with path.open("rb") as file:
            while (content := file.read(BATCH)) or not at:
                yield name, mode, about.st_uid, about.st_gid, content, at
                at += len(content) or 1  # an empty file has one piece, too


def _below(source: Path) -> Iterator[Path]:
    yield source
    if source.is_dir():
        yield from sorted(source.rglob("*"))
