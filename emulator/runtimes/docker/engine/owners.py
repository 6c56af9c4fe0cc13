"""The owners of the containers and networks in the engine, and whether their conductors live.

While a conductor lives it holds two locks: one in the cache, which stays when the run's folder is
moved, and one in the folder, which stays when the cache is emptied. The labels of every container
and network name both.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from docker import DockerClient

from ....errors import HostError
from ....machine import lock
from ....machine.cache import cache
from ....runs import folder
from ..network.link_removal import remove_link
from .cleanup import FOLDER, LINK, LOCK, RUN, Removed, clean_up
from .client import refusals


@dataclass(frozen=True)
class Owner:
    """A run, a probe of the kernel, or a foreign container's link, with things in the engine."""

    run: str
    folder: Path | None
    """The path at which the run's folder was created; None for a probe."""
    lock: Path | None
    """The lock in the cache."""
    conductor: int | None
    """Id of the conducting process, if known to live."""
    dead: bool
    """Whether the conductor is known to be dead. If the locks cannot be seen, neither is known: a
    run of another user that just starts has a network, and no container that runs yet."""
    link: str = ""
    """Name of the foreign container, if this is no run but a link."""


def place(run: str) -> Path:
    """Return the path of the lock of `run` in the cache."""
    return cache("conductors", run)


@contextmanager
def owned(run: str) -> Iterator[None]:
    """Hold the lock of `run` in the cache during the block.

    Nothing may be labelled `run` before: another process would take the run for dead.
    """
    path = place(run)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(
            f"cannot write {path.parent}: {error.strerror}: name another place in EMULATE_CACHE"
        ) from error
    with lock.held(path):
        yield


def owners(client: DockerClient) -> list[Owner]:
    """Return the owners of all labelled containers, networks and volumes in the engine."""
    marked = {"label": RUN}
    things = [
        *client.api.containers(all=True, filters=marked),
        *client.api.networks(filters=marked),
        *(client.api.volumes(filters=marked).get("Volumes") or []),
    ]
    labels = {thing["Labels"][RUN]: thing["Labels"] for thing in things}
    return [owner_of(marks) for marks in labels.values()]


def owner_of(labels: Mapping[str, str]) -> Owner:
    """Return the owner of a thing in an engine that has these `labels`."""
    path = Path(labels[FOLDER]) if FOLDER in labels else None
    locked = Path(labels[LOCK]) if LOCK in labels else None
    conductor = folder.conductor(path) if path else None
    dead = False
    if locked and conductor is None:
        with suppress(OSError):  # another user's lock
            conductor = lock.holder(locked)
            # a run on another host that shares the engine has neither file here
            seen = locked.exists() or (path is not None and path.is_dir())
            dead = conductor is None and seen
    return Owner(labels[RUN], path, locked, conductor, dead, labels.get(LINK, ""))


def remove(client: DockerClient, owner: Owner) -> Removed:
    """Remove everything of `owner` from the engine, and its lock once nothing is left.

    A link is undone first.

    If the conductor is dead, the files that the containers mounted go too: they hold secrets.
    """
    removed = (remove_link if owner.link else clean_up)(client, owner.run)
    if owner.folder and owner.conductor is None:
        folder.RunFolder(owner.folder, owner.run).discard_work()
    if owner.lock and owner.conductor is None and not removed.left:
        with suppress(OSError):
            owner.lock.unlink()
    return removed


def remove_dead(client: DockerClient, tell: Callable[[str], None]) -> None:
    """Remove all that dead conductors have left in the engine.

    Things that the engine refuses to remove stay; `emulate clean` names them. `tell` shows the
    runs' ids.
    """
    with refusals("looking for what dead runs have left"):
        dead = [owner for owner in owners(client) if owner.dead]
    if dead:
        tell(f"removing what dead runs have left: {', '.join(owner.run for owner in dead)}")
    for owner in dead:
        remove(client, owner)
