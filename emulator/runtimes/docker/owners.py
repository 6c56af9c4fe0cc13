"""Whose the containers and networks in the engine are, and whether their conductors live.

While a conductor lives it holds two locks: one in a fixed place, which stays where it is when the
run's folder is moved, and one in the folder, which stays where it is when the cache is emptied.
The labels of all that it creates name both.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from docker import DockerClient

from ...errors import HostError
from ...machine import lock
from ...machine.cache import cache
from ...runs import folder
from .cleanup import Swept, sweep
from .client import refusals
from .labels import FOLDER, LOCK, RUN


@dataclass(frozen=True)
class Owner:
    """A run, or a probe of the kernel, that has something in the engine."""

    run: str
    folder: Path | None
    """Where the run's folder was made; None for a probe."""
    lock: Path | None
    """The one that does not move."""
    conductor: int | None
    """The process that conducts it, if that is known to live."""
    dead: bool
    """Whether its conductor is known to be dead; neither is, where the locks cannot be seen."""
    running: bool
    """Whether any of its containers runs."""

    @property
    def abandoned(self) -> bool:
        """Whether it may be removed: containers end by themselves without a conductor."""
        return self.dead or not (self.conductor or self.running)


def place(run: str) -> Path:
    """Return where the lock of `run` is that does not move with its folder."""
    return cache("conductors", run)


@contextmanager
def owned(run: str) -> Iterator[None]:
    """Hold the lock of `run` at `place`. Nothing may be labelled `run` before."""
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
    """Return everybody who has a container, a network or a volume in the engine."""
    marked = {"label": RUN}
    containers = client.api.containers(all=True, filters=marked)
    things = [
        *containers,
        *client.api.networks(filters=marked),
        *(client.api.volumes(filters=marked).get("Volumes") or []),
    ]
    labels = {thing["Labels"][RUN]: thing["Labels"] for thing in things}
    running = {one["Labels"][RUN] for one in containers if one["State"] == "running"}
    return [_owner(marks, run in running) for run, marks in labels.items()]


def _owner(labels: Mapping[str, str], running: bool) -> Owner:
    made = Path(labels[FOLDER]) if FOLDER in labels else None
    held = Path(labels[LOCK]) if LOCK in labels else None
    conductor = folder.conductor(made) if made else None
    dead = False
    if held and conductor is None:
        with suppress(OSError):  # another user's
            conductor = lock.holder(held)
            seen = held.exists() or (made is not None and made.is_dir())
            dead = conductor is None and seen
    return Owner(labels[RUN], made, held, conductor, dead, running)


def remove(client: DockerClient, owner: Owner) -> Swept:
    """Remove everything of `owner` from the engine, and its lock once nothing is left."""
    swept = sweep(client, owner.run)
    if owner.lock and owner.conductor is None and not swept.left:
        with suppress(OSError):
            owner.lock.unlink()
    return swept


def remove_dead(client: DockerClient, tell: Callable[[str], None]) -> None:
    """Remove what runs have left whose conductors are known to be dead.

    What cannot be removed stays, for `emulate clean` to name.
    """
    with refusals("looking for what dead runs have left"):
        dead = [owner for owner in owners(client) if owner.dead]
    if dead:
        tell(f"removing what dead runs have left: {', '.join(owner.run for owner in dead)}")
    for owner in dead:
        remove(client, owner)
