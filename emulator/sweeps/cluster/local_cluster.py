"""A Dask cluster on this machine, for trying.

The process `python -m emulator.sweeps.cluster.local_cluster WORKERS` is the cluster: a scheduler
and workers, which end with it at a SIGTERM. It holds a lock in the cache folder, so there is one
such cluster for a user.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import HostError
from ...machine.cache import cache
from ...machine.lock import held_alone, holder
from .sweep_cluster import MISSING

PATIENCE = 60.0
"""Seconds in which the workers start, or end."""


class LocalCluster(NamedTuple):
    """A cluster that is up on this machine."""

    process: int
    address: str
    workers: int


def _lock() -> Path:
    return cache("cluster", "dask.lock")


def _about() -> Path:
    return cache("cluster", "dask.json")


def current() -> LocalCluster | None:
    """Return the cluster that is up, or None."""
    process = holder(_lock())
    if process is None:
        return None
    try:
        about = json.loads(_about().read_text(encoding="utf-8"))
        return LocalCluster(process, about["address"], about["workers"])
    except (OSError, ValueError, LookupError):
        return LocalCluster(process, "", 0)  # it is just starting, or ending


def up(workers: int) -> LocalCluster:
    """Start a cluster of so many `workers`, each for one point at a time; return it when it is up.

    Raises HostError if one is up already, or if it does not come up.
    """
    if known := current():
        raise HostError(f"a cluster is up already at {known.address}: `emulate cluster down`")
    _lock().parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", __name__, str(workers)]
    with _about().with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # it outlives the terminal
        )
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends and process.poll() is None:
        if (known := current()) and known.process == process.pid and known.address:
            return known
        time.sleep(0.1)
    process.kill()
    process.wait()
    said = _about().with_suffix(".log").read_text(encoding="utf-8", errors="replace").strip()
    raise HostError(f"the cluster did not come up: {said[-2000:] or 'it says nothing'}")


def down() -> LocalCluster | None:
    """End the cluster that is up, and wait for its end; return what was up."""
    known = current()
    if known is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(known.process, signal.SIGTERM)
    ends = time.monotonic() + PATIENCE
    while holder(_lock()) is not None:
        if time.monotonic() > ends:
            raise HostError(f"the cluster of process {known.process} does not end: kill it")
        time.sleep(0.1)
    return known


def main() -> None:
    """Be the cluster until a SIGTERM."""
    workers = int(sys.argv[1])
    try:
        from distributed import LocalCluster as Dask
    except ModuleNotFoundError:
        sys.exit(MISSING)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    make: Any = Dask  # which has no types
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with held_alone(_lock(), "a cluster is held"), make(host="127.0.0.1", **options) as cluster:
        about = {"address": cluster.scheduler_address, "workers": workers}
        part = _about().with_suffix(".part")
        part.write_text(json.dumps(about), encoding="utf-8")
        part.replace(_about())
        try:
            while True:
                signal.pause()
        finally:
            _about().unlink(missing_ok=True)


if __name__ == "__main__":
    main()
