"""The model version that each node has pulled and computes on, and the oldest of these versions."""

from collections.abc import Iterator


class PulledVersions:
    """At most one version for each node. Every method takes O(1) time."""

    def __init__(self) -> None:
        self._version: dict[str, int] = {}  # by node
        # How many nodes compute on each version; a version without nodes is deleted. Versions are
        # inserted in ascending order and a dict keeps that order, so its first key is the oldest.
        self._nodes: dict[int, int] = {}

    def begin(self, node: str, version: int) -> None:
        """Note that `node` was sent `version`, which is no older than any version sent before."""
        self.end(node)
        self._version[node] = version
        self._nodes[version] = self._nodes.get(version, 0) + 1

    def end(self, node: str) -> None:
        """Note that `node` computes on no version any more."""
        version = self._version.pop(node, None)
        if version is None:
            return
        self._nodes[version] -= 1
        if not self._nodes[version]:
            del self._nodes[version]

    def version(self, node: str) -> int | None:
        """Return the version that `node` computes on; None if it computes on none."""
        return self._version.get(node)

    @property
    def oldest(self) -> int | None:
        """The oldest version that a node computes on; None if no node computes."""
        return next(iter(self._nodes), None)

    def __iter__(self) -> Iterator[int]:
        """Yield the versions that nodes compute on, the oldest first."""
        return iter(self._nodes)
