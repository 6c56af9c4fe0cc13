"""Who computes on which version of the model, and the oldest of them."""

from collections.abc import Iterator


class Working:
    """One version a node at most; all questions are answered in O(1), amortised."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._nodes: dict[
            int, int
        ] = {}  # how many work on each version, the oldest first; no zeros

    def begin(self, node: str, version: int) -> None:
        """The node has been sent `version`, which is no older than any sent before."""
        self.end(node)
        self._of[node] = version
        self._nodes[version] = self._nodes.get(version, 0) + 1

    def end(self, node: str) -> None:
        """It works on nothing any more."""
        version = self._of.pop(node, None)
        if version is None:
            return
        self._nodes[version] -= 1
        if not self._nodes[version]:
            del self._nodes[version]

    def version(self, node: str) -> int | None:
        return self._of.get(node)

    @property
    def oldest(self) -> int | None:
        """The oldest version that a node works on; None if nobody works."""
        return next(iter(self._nodes), None)

    def __iter__(self) -> Iterator[int]:
        """Yield the versions that nodes work on, the oldest first."""
        return iter(self._nodes)
