"""The shards that follow, as their files have them last, in the process that reads a dead run."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path

from ...core.sharding.connected_follower import ConnectedFollower
from ...core.sharding.shard_channels import decode_told
from ...transport.shard_link import LeaderLinks
from .durable_follower import restored
from .logged_reports import LoggedReports


class _Resident:
    """The leader's end of a connection with a follower in this process, for `LeaderLinks`: each
    message is answered at once. Nothing is written."""

    def __init__(self, shard: ConnectedFollower) -> None:
        self._shard = shard
        self._inbox = deque([shard.presence()])

    def send(self, data: bytes, flags: int = 0) -> None:
        told = decode_told(data)
        if self._shard.is_new(told):
            self._inbox.extend(self._shard.obey(told)[0])
        else:
            self._inbox.extend(self._shard.answers(told))

    def poll(self, timeout: float) -> bool:
        return bool(self._inbox)

    def recv(self) -> bytes:
        return self._inbox.popleft()


def reports_of(shards: Mapping[int, tuple[Path, ConnectedFollower]]) -> LoggedReports:
    """Return the connections of a leader with `shards`, by number: the folder of each, and the
    shard as at the run's start, which is brought to its last state.

    The files stay as they are. Raises ValueError for files that no follower has written.
    """
    for folder, shard in shards.values():
        restored(folder, shard)
    residents = {number: _Resident(shard) for number, (_, shard) in shards.items()}
    return LoggedReports(LeaderLinks(residents, lambda: None))
