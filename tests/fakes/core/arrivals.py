"""Four nodes that arrive at a synchronizer in turns."""

from typing import Any

NODES = ["a", "b", "c", "d"]


ALL = frozenset(NODES)


def arrive(synchronizer: Any, *nodes: str, now: float = 0.0) -> list[str] | None:
    """All but the last must be kept waiting; what comes of the last."""
    steps = [synchronizer.arrive(node, node, now) for node in nodes]
    assert not any(steps[:-1])
    return steps[-1]
