"""Remove what runs have created, found by its label alone."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.errors import APIError, NotFound

from ...errors import DeploymentError
from .labels import RUN

PATIENCE = 30.0
"""Seconds that the engine has to take everything away."""


@dataclass(frozen=True)
class Swept:
    """How many of each were removed."""

    containers: int
    networks: int
    volumes: int


def sweep(client: DockerClient, run: str | None = None) -> Swept:
    """Remove every container, network and volume of `run`, or of all runs. Idempotent.

    Raises DeploymentError if something is still there after `PATIENCE`.
    """
    label = {"label": RUN if run is None else f"{RUN}={run}"}
    containers = client.api.containers(all=True, filters=label)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda found: _remove_container(client, found["Id"]), containers))
    _await_none(client, label)
    networks = client.api.networks(filters=label)
    for network in networks:
        _ignoring(client.api.remove_network, network["Id"])
    volumes = client.api.volumes(filters=label).get("Volumes") or []
    for volume in volumes:
        _ignoring(client.api.remove_volume, volume["Name"])
    return Swept(len(containers), len(networks), len(volumes))


def _remove_container(client: DockerClient, name: str) -> None:
    _ignoring(client.api.remove_container, name, force=True, v=True)


def _ignoring(remove: Any, *args: Any, **options: Any) -> None:
    """What is gone already, or going, is as good as removed."""
    try:
        remove(*args, **options)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:
            raise DeploymentError(f"cannot remove {args[0]}: {error.explanation}") from error


def _await_none(client: DockerClient, label: dict[str, str]) -> None:
    until = time.monotonic() + PATIENCE
    while left := client.api.containers(all=True, filters=label):
        if time.monotonic() > until:
            names = ", ".join(found["Names"][0].lstrip("/") for found in left if found["Names"])
            raise DeploymentError(f"these containers do not go away: {names}")
        time.sleep(0.1)
