"""Runs the process that measures layers, on random examples."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ...errors import HostError
from ...learning import models
from ...learning.datasets import shard
from .worker_bench import ENVIRONMENT, noise

TIMEOUT = 300.0
"""Seconds after which the process counts as stuck; it takes a few."""


def layer_times(
    model: models.Model, batch_size: int, graph: Path
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the median CPU seconds of each layer's forward and backward pass, layer 1 first.

    `graph` is the folder of the exported model. Raises a HostError with the last words of a process
    that failed.
    """
    with tempfile.TemporaryDirectory(prefix="emulate-") as folder:
        shard.write(Path(folder), noise(model.task, batch_size))
        arguments = [model.name, str(graph), folder, str(batch_size)]
        try:
            process = subprocess.run(
                [sys.executable, "-m", "emulator.costs.calibration.layer_meter", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env={**os.environ, **ENVIRONMENT},
                timeout=TIMEOUT,
                encoding="utf-8",
            )
        except subprocess.TimeoutExpired as error:
            raise HostError(f"measuring the layers took more than {TIMEOUT:.0f} s") from error
    if process.returncode:
        raise HostError(f"cannot measure the layers of {model.name}:\n{process.stderr[-2000:]}")
    measured = json.loads(process.stdout)
    return tuple(measured["forward"]), tuple(measured["backward"])
