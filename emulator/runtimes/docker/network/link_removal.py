"""Finds and removes the links of foreign containers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from docker import DockerClient
from docker.errors import NotFound

from ..engine.cleanup import LINK, ROLE, RUN, STARTED, Removed, clean_up

LAST = 10
"""Seconds that a sidecar has to undo its link."""


def linked(client: DockerClient, container: str) -> str:
    """Return the id of the link of `container`, which need not run any more; empty without one."""
    label = f"{LINK}={_name(client, container)}"
    found = client.api.containers(all=True, filters={"label": label})
    return str(found[0]["Labels"][RUN]) if found else ""


def departure(client: DockerClient, run: str) -> str:
    """Return how the container of the link with the id `run` has lost the link, as a clause.

    The clause is empty while the container stands behind the link.
    """
    marks = _marks(client, run)
    if not marks:
        return ""
    shared = [_shared_with(client, sidecar) for sidecar in _sidecars(client, run)]
    try:
        state = client.api.inspect_container((shared or [marks[LINK]])[0])["State"]
    except NotFound:
        return "does not exist any more"
    if not state["Running"]:
        return "does not run"
    if state["StartedAt"] != marks.get(STARTED):
        return "was started again since, with its own network"
    return ""


def remove_link(client: DockerClient, run: str) -> Removed:
    """Undo the link with the id `run`, and remove its sidecar and box.

    A network that could not be given back is among the things `left`.
    """
    lost = () if departure(client, run) else tuple(_undo(client, run))
    removed = clean_up(client, run)
    return replace(removed, left=(*lost, *removed.left))


def _undo(client: DockerClient, run: str) -> Iterator[str]:
    """Stop the sidecar of the link `run`; yield a line if it has not undone the link."""
    sidecars = _sidecars(client, run)
    if not sidecars and (name := _marks(client, run).get(LINK)):
        yield f"{name} has not got its network back: its sidecar is gone: start {name} again"
    for sidecar in sidecars:
        if sidecar["State"] == "running":
            client.api.stop(sidecar["Id"], timeout=LAST)  # it undoes the link
        if code := client.api.inspect_container(sidecar["Id"])["State"]["ExitCode"]:
            said = client.api.logs(sidecar["Id"], stdout=False).decode(errors="replace").strip()
            name = sidecar["Labels"][LINK]
            yield (
                f"{name} has not got its network back: {said or f'the sidecar ended with {code}'}: "
                f"start {name} again"
            )


def _marks(client: DockerClient, run: str) -> dict[str, str]:
    """Return the labels of the link `run`, from a container or the volume; none if all are gone."""
    wanted = {"label": f"{RUN}={run}"}
    things = client.api.containers(all=True, filters=wanted)
    things = things or client.api.volumes(filters=wanted).get("Volumes") or []
    return dict(things[0]["Labels"]) if things else {}


def _sidecars(client: DockerClient, run: str) -> list[dict[str, Any]]:
    label = [f"{RUN}={run}", f"{ROLE}=link"]
    found: list[dict[str, Any]] = client.api.containers(all=True, filters={"label": label})
    return found


def _shared_with(client: DockerClient, sidecar: dict[str, Any]) -> str:
    """Return the id of the container in whose network `sidecar` is."""
    mode = client.api.inspect_container(sidecar["Id"])["HostConfig"]["NetworkMode"]
    return str(mode).removeprefix("container:")


def _name(client: DockerClient, container: str) -> str:
    """Return the name of `container`, which may be given by its id, or be gone."""
    try:
        return str(client.api.inspect_container(container)["Name"]).lstrip("/")
    except NotFound:
        return container
