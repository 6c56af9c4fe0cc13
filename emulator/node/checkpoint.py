"""The model on disk, whole or not at all: written beside, then renamed."""

import os
from pathlib import Path

import msgspec
import numpy as np

from ..core.server import ParameterServer
from ..layout import Layout
from ..log.writing import RunLog
from ..vectors import Vector


def save(path: Path, theta: Vector, version: int, layout: Layout) -> None:
    """Write `theta` f32[N], `version` and the layout as JSON; a reader never sees half of it."""
    beside = path.with_suffix(".part")
    plain = np.frombuffer(msgspec.json.encode(layout.plain()), np.uint8)
    with beside.open("wb") as file:
        np.savez(file, theta=theta, version=np.int64(version), layout=plain)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


class Checkpoints:
    """Saves the server's model every `every` seconds, counted from the run's start."""

    def __init__(self, server: ParameterServer, every: float, path: Path, log: RunLog) -> None:
        self._server, self._every, self._path, self._log = server, every, path, log
        self._number = 1

    def deadline(self) -> float | None:
        zero = self._server.zero
        return None if zero is None else zero + self._number * self._every

    def tick(self, now: float) -> None:
        due = self.deadline()
        if due is None or now < due or self._server.zero is None:
            return
        server = self._server
        save(self._path, server.parameters.snapshot(), server.version, server.layout)
        self._log.write(now - self._server.zero, "checkpoint", version=server.version)
        passed = int((now - self._server.zero) // self._every)
        self._number = max(self._number, passed) + 1  # the quotient may be rounded down
