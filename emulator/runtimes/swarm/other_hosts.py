"""What runs have left at the other hosts of a swarm, for clean-up."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from docker import DockerClient

from ...errors import EmulatorError
from ..docker.engine.cleanup import Removed, clean_up
from ..docker.engine.client import refusals
from ..docker.engine.hosts import EngineHost
from ..docker.engine.owners import owners
from ..docker.engine.probing import Probed, examine
from ..docker.images import node_image
from . import agents
from .nodes import manages, ready_nodes, unreachable_nodes
from .socket_folders import remove_dead_folders


@dataclass
class Cleaned:
    """What a clean-up of the other hosts removed, and what it left."""

    removed: Removed = field(default_factory=Removed)
    spared: list[str] = field(default_factory=list)
    """Runs that are being played."""


def clean_other_hosts(
    client: DockerClient,
    wanted: Callable[[str], bool],
    force: bool,
    tell: Callable[[str], None] = lambda line: None,
) -> Cleaned:
    """Remove what dead runs have left at the other hosts of the swarm that `client` manages.

    Of runs that live only with `force`, and of none that is not `wanted`. Without a swarm no other
    host is looked at. The folders that dead conductors have left on this machine go, too. A line in
    `left` names each host that was not reached.
    """
    cleaned = Cleaned()
    remove_dead_folders()
    if not manages(client):
        return cleaned
    with refusals("looking at the swarm's other hosts"):
        agents.remove_dead(client, lambda run: force and wanted(run))
        _, others = ready_nodes(client)
        gone = [
            f"host {name} is {why}: what runs have left there stays: `emulate clean` once it is "
            f"{'active' if why in ('drained', 'paused') else 'back'}"
            for name, why in unreachable_nodes(client).items()
        ]
    cleaned.removed += Removed(left=tuple(gone))
    if not others:
        return cleaned
    try:
        running = agents.start(client, node_image.require(client).id, others, tell)
    except EmulatorError as error:
        cleaned.removed += Removed(left=(f"the swarm's other hosts were not looked at: {error}",))
        return cleaned
    try:
        unseen = tuple(f"host {why}: what runs have left there stays" for why in running.missing)
        cleaned.removed += Removed(left=unseen)
        # those of others' agents that live are no runs
        known = agents.present(client)
        for host in running.hosts:
            _clean(host, lambda run: run not in known and wanted(run), force, cleaned)
    finally:
        running.close()
    return cleaned


def _clean(
    host: EngineHost,
    wanted: Callable[[str], bool],
    force: bool,
    cleaned: Cleaned,
) -> None:
    for owner in owners(host.client):
        if not wanted(owner.run):
            continue
        if owner.dead or force:
            cleaned.removed += clean_up(host.client, owner.run, networks=False)
        else:
            cleaned.spared.append(owner.run)


def examine_hosts(client: DockerClient, image: str) -> list[tuple[str, Probed]]:
    """Return what the engine of each other host can do, by the host's name.

    Raises HostError if the engine manages no swarm, or if an agent does not come up.
    """
    _, others = ready_nodes(client)
    if not others:
        return []
    running = agents.start_all(client, image, others, lambda line: None)
    try:
        return [(host.name, examine(host.client, image, host=host)) for host in running.hosts]
    finally:
        running.close()


def remove_dead_there(hosts: Collection[EngineHost], ours: str) -> None:
    """Remove from `hosts` what dead runs have left; `ours` is the id of the agents."""
    for host in hosts:
        _clean(host, lambda run: run != ours, False, Cleaned())
