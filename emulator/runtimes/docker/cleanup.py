"""Remove what runs have created, found by its label alone."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound

from .labels import RUN

PATIENCE = 30.0
"""Seconds that the engine has to take the containers away."""


@dataclass(frozen=True)
class Swept:
    """How many of each were removed."""

    containers: int = 0
    networks: int = 0
    volumes: int = 0
    left: tuple[str, ...] = ()
    """What could not be removed, and why: a line each."""


def sweep(client: DockerClient, run: str | None = None) -> Swept:
    """Remove every container, network and volume of `run`, or of all runs. Idempotent.

    What Docker refuses is no error, since it must not turn a run that went well into a failure.
    """
    try:
        return _sweep(client, {"label": RUN if run is None else f"{RUN}={run}"})
    except (DockerException, requests.RequestException) as error:
        what = "all runs" if run is None else f"run {run}"
        return Swept(left=(f"Docker failed while what {what} created was removed: {error}",))


def _sweep(client: DockerClient, label: dict[str, str]) -> Swept:
    api = client.api
    containers = api.containers(all=True, filters=label)
    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(lambda found: _remove_container(client, found["Id"]), containers))
    stuck = _stuck(client, label)
    nets = [_remove_network(client, network) for network in api.networks(filters=label)]
    found = api.volumes(filters=label).get("Volumes") or []
    volumes = [_remove(api.remove_volume, f"volume {one['Name']}", one["Name"]) for one in found]
    left = tuple(filter(None, [*ends, *stuck, *nets, *volumes]))
    return Swept(ends.count(""), nets.count(""), volumes.count(""), left)


def _remove_container(client: DockerClient, name: str) -> str:
    return _remove(client.api.remove_container, f"container {name}", name, force=True, v=True)


def _remove_network(client: DockerClient, network: dict[str, Any]) -> str:
    """Remove a network; somebody may have attached a container of theirs."""
    name = network.get("Name", network["Id"])
    refused = _remove(client.api.remove_network, f"network {name}", network["Id"])
    if not refused:
        return ""
    attached = client.api.inspect_network(network["Id"]).get("Containers") or {}
    if not attached:
        return refused
    names = ", ".join(sorted(one["Name"] for one in attached.values()))
    return (
        f"network {name} stays, as these containers of somebody else's are attached: {names}: "
        "remove them, then `emulate clean` removes it"
    )


def _remove(remove: Callable[..., Any], what: str, *args: Any, **options: Any) -> str:
    """Remove a thing; return why it could not be, empty if it is gone already, or going."""
    try:
        remove(*args, **options)
    except NotFound:
        return ""
    except APIError as error:
        return "" if error.status_code == 409 else f"{what} stays: {error.explanation or error}"
    return ""


def _stuck(client: DockerClient, label: dict[str, str]) -> list[str]:
    """Wait until the containers are gone; return those that stay."""
    until = time.monotonic() + PATIENCE
    while left := client.api.containers(all=True, filters=label):
        if time.monotonic() > until:
            names = ", ".join(found["Names"][0].lstrip("/") for found in left if found["Names"])
            return [f"these containers do not go away within {PATIENCE:.0f} s: {names}"]
        time.sleep(0.1)
    return []
