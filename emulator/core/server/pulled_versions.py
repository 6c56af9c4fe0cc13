"""The models that nodes were sent last: the version of each, and the steps of compute groups since.

The history must reach the oldest version in use. Nodes compute on these versions, or have pushed
gradients that wait for a step: while the push of a node waits for the rest of a compute group,
other groups make steps.
"""

from collections.abc import Iterator, Sequence

from ...errors import WireError
from ...plugins.stateful import Stateful
from ..wire.messages import Activations, Diverged, Score, Update, UpdateSegment


def check_sent(
    message: Update | UpdateSegment | Activations | Diverged | Score, sent: int | None
) -> None:
    """Raise a WireError unless `message` is about version `sent`, which its node was sent."""
    node, version = message.node, message.version
    if version != sent:
        raise WireError(f"{node} was last sent version {sent}, it cannot know {version}")


class PulledVersions(Stateful):
    """The version of each node that computes, and the versions of waiting pushes.

    Every method takes O(1) time.
    """

    STATE = ("_version", "_uses")

    def __init__(self) -> None:
        self._version: dict[str, int] = {}  # by node
        # Nodes that compute on each version, plus pushes on it that wait; a version without any is
        # deleted. Versions are inserted in ascending order and a dict keeps that order, so its
        # first key is the oldest.
        self._uses: dict[int, int] = {}

    def begin(self, node: str, version: int) -> None:
        """Record `version` as sent to `node`; versions must not descend from call to call."""
        self.end(node)
        self._version[node] = version
        self._uses[version] = self._uses.get(version, 0) + 1

    def end(self, node: str) -> None:
        """Forget the version of `node`, if the node has one."""
        version = self._version.pop(node, None)
        if version is not None:
            self.release(version)

    def push(self, node: str) -> None:
        """End the computing of `node`, and keep its version until a call of `release`."""
        del self._version[node]

    def release(self, version: int) -> None:
        """Forget a push on `version` after its step or its refusal."""
        self._uses[version] -= 1
        if not self._uses[version]:
            del self._uses[version]

    def version(self, node: str) -> int | None:
        """Return the version of `node`; None if the node computes nothing."""
        return self._version.get(node)

    @property
    def oldest(self) -> int | None:
        """The oldest version in use; None without a node or a push."""
        return next(iter(self._uses), None)

    def __iter__(self) -> Iterator[int]:
        """Yield the versions in use, the oldest first."""
        return iter(self._uses)


class GroupUpdates(Stateful):
    """Counts the steps of groups, and keeps the count at the last pull of every worker.

    The memory is a number for every worker, dead workers included.
    """

    STATE = ("_steps", "_at_pull")

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        """Count the steps of `groups`, given as names of workers."""
        self._group = {name: number for number, group in enumerate(groups) for name in group}
        self._steps = 0
        self._at_pull: dict[str, int] = {}  # steps by worker

    def group(self, node: str) -> int:
        """Return the number of the group of `node`, from 0."""
        return self._group[node]

    def pulled(self, node: str) -> None:
        """Record that `node` was sent the newest model."""
        self._at_pull[node] = self._steps

    def stepped(self, nodes: Sequence[str]) -> list[int]:
        """Count a step of updates by `nodes`; return how many steps of groups each is stale."""
        # a node whose update waits for its step is sent no other model before it
        stale = [self._steps - self._at_pull[node] for node in nodes]
        self._steps += 1
        return stale
