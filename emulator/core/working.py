"""Who computes on which version of the model, and the oldest of them."""


class Working:
    """One version a node at most; all questions are answered in O(1), amortised."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._nodes: dict[int, int] = {}  # how many work on each version, the oldest first

    def begin(self, node: str, version: int) -> None:
        """The node has been sent `version`, which is no older than any sent before."""
        self.end(node)
        self._of[node] = version
        self._nodes[version] = self._nodes.get(version, 0) + 1

    def end(self, node: str) -> None:
        """It works on nothing any more."""
        version = self._of.pop(node, None)
        if version is not None:
            self._nodes[version] -= 1

    def version(self, node: str) -> int | None:
        return self._of.get(node)

    @property
    def oldest(self) -> int | None:
        """The oldest version that a node works on; None if nobody works."""
        while self._nodes:
            version = next(iter(self._nodes))
            if self._nodes[version]:
                return version
            del self._nodes[version]
        return None
