"""Finds and removes the links of foreign containers."""

from docker import DockerClient
from docker.errors import NotFound

from .cleanup import Removed, clean_up
from .labels import LINK, ROLE, RUN

LAST = 10
"""Seconds that a sidecar has to undo its link."""


def linked(client: DockerClient, container: str) -> str:
    """Return the id of the link of `container`, which need not run any more; empty without one."""
    label = f"{LINK}={_name(client, container)}"
    found = client.api.containers(all=True, filters={"label": label})
    return str(found[0]["Labels"][RUN]) if found else ""


def remove_link(client: DockerClient, run: str) -> Removed:
    """Undo the link with the id `run`, and remove its sidecar and box."""
    for about in client.api.containers(filters={"label": [f"{RUN}={run}", f"{ROLE}=link"]}):
        client.api.stop(about["Id"], timeout=LAST)  # it undoes the link
    return clean_up(client, run)


def _name(client: DockerClient, container: str) -> str:
    """Return the name of `container`, which may be given by its id, or be gone."""
    try:
        return str(client.api.inspect_container(container)["Name"]).lstrip("/")
    except NotFound:
        return container
