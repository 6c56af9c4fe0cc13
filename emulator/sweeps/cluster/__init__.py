"""Points of a sweep on the workers of a Dask cluster, which bring the run folders home.

`connected(address)` opens a `Cluster`, of which `sweep` takes the method `start`. Dask is an
optional dependency. Its scheduler and workers run what a client asks for, and trust each other:
the protection of that network is its owner's.
"""

from .sweep_cluster import Cluster, connected

__all__ = ["Cluster", "connected"]
