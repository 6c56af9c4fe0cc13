"""Where the points of a sweep, study or tuning are played: on this machine, or on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..machine.host import Host
from .point_process import Start, at_home


class Players(NamedTuple):
    """What starts points, and how many of them play at the same time."""

    start: Start
    cores: int


@contextmanager
def players(cores: int | None, cluster: str | None = None) -> Iterator[Players]:
    """Yield the players of the Dask cluster at the address `cluster`; None: those of this machine.

    They play `cores` points at a time; None: as many as there are cores, or as the cluster's
    workers have threads. Raises HostError as `cluster.connected` does.
    """
    if cluster is None:
        yield Players(at_home, cores or Host.here().cores)
        return
    from .cluster import connected

    with connected(cluster) as workers:
        yield Players(workers.start, min(cores or workers.cores, workers.cores))
