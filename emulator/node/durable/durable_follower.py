"""Brings a shard that follows back from its disk: the newest state, and the inputs since.

Its inputs are the messages of devices, the leader's orders, and what it observes by itself.
"""

from pathlib import Path

from ...core.sharding.connected_follower import ConnectedFollower
from ...core.sharding.shard_channels import decode_news, decode_told
from . import input_log
from .input_log import Heard, Observed, Told
from .journal import Journal
from .recovery import FOLDER, restore_state
from .state_folder import StateFolder


def recovered_follower(output: Path, shard: ConnectedFollower) -> Journal:
    """Bring `shard`, made as at the run's start, to its last state in the folder `output`; return
    its journal, which goes on from there.

    Raises ValueError for a state or an input that no follower has written.
    """
    folder, number = StateFolder(output / FOLDER), restored(output, shard)
    folder.discard_from(number)
    journal = Journal(folder)
    journal.open(number, due=bool(number))
    return journal


def restored(output: Path, shard: ConnectedFollower) -> int:
    """Bring `shard` to its last state in the folder `output`; return the number of its next input.

    The files stay as they are. Raises ValueError as `recovered_follower`.
    """
    folder = StateFolder(output / FOLDER)
    saved, number = folder.newest(), 0
    if saved is not None:
        restore_state(shard, saved.state)
        number = saved.number
    for record in folder.inputs(number):
        _take_again(shard, record)
        number += 1
    return number


def _take_again(shard: ConnectedFollower, record: list[bytes]) -> None:
    """Take the input in `record` again: its reports and replies have left, or are said anew."""
    entry, message, data = input_log.parse(record)
    match entry:
        case Heard(_, node) if message is not None:
            shard.hear(node, message)
        case Told():
            shard.obey(decode_told(data))
        case Observed():
            shard.report(decode_news(data))
        case _:
            raise ValueError(f"a {type(entry).__name__} is no input of a follower")
