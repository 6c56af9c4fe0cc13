"""The model versions on which nodes compute, by node, and the oldest version among them."""

from collections.abc import Iterator

from ..errors import WireError
from .messages import Activations, Diverged, Score, Update, UpdateSegment


def check_sent(
    message: Update | UpdateSegment | Activations | Diverged | Score, sent: int | None
) -> None:
    """Raise a WireError unless `message` is about version `sent`, which its node was sent."""
    node, version = message.node, message.version
    if version != sent:
        raise WireError(f"{node} was last sent version {sent}, it cannot know {version}")


class PulledVersions:
    """At most one version per node. Every method takes O(1) time."""

    def __init__(self) -> None:
        self._version: dict[str, int] = {}  # by node
        # How many nodes compute on each version; a version without nodes is deleted. Versions are
        # inserted in ascending order and a dict keeps that order, so its first key is the oldest.
        self._nodes: dict[int, int] = {}

    def begin(self, node: str, version: int) -> None:
        """Record `version` as sent to `node`; versions must not descend from call to call."""
        self.end(node)
        self._version[node] = version
        self._nodes[version] = self._nodes.get(version, 0) + 1

    def end(self, node: str) -> None:
        """Forget the version of `node`, if the node has one."""
        version = self._version.pop(node, None)
        if version is None:
            return
        self._nodes[version] -= 1
        if not self._nodes[version]:
            del self._nodes[version]

    def version(self, node: str) -> int | None:
        """Return the version of `node`; None if the node computes nothing."""
        return self._version.get(node)

    @property
    def oldest(self) -> int | None:
        """The oldest version with a node at work; None if no node computes."""
        return next(iter(self._nodes), None)

    def __iter__(self) -> Iterator[int]:
        """Yield the versions with a node at work, the oldest first."""
        return iter(self._nodes)
