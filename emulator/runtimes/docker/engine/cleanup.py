"""Labels what runs make in the engine, and removes it. Nothing without a label is ever touched."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound

from .hosts import EngineHost, Hosts

RUN = "emulate.run"
SCENARIO = "emulate.scenario"
ROLE = "emulate.role"
DEVICE = "emulate.device"
FOLDER = "emulate.folder"
LOCK = "emulate.lock"
"""Path of a file that the conductor locks for as long as it lives."""
LINK = "emulate.link"
"""Name of the foreign container whose link a sidecar and a box make; they have no conductor."""


STARTED = "emulate.started"
"""Time at which the foreign container of a link was started: a later start has lost the link."""


def labels(
    run: str, scenario: str, folder: str, lock: str, role: str, device: str = ""
) -> dict[str, str]:
    """Return the labels of a container or network of `run`; `device` is empty but for devices."""
    marks = {RUN: run, SCENARIO: scenario, FOLDER: folder, LOCK: lock, ROLE: role}
    return {**marks, DEVICE: device} if device else marks


LATE_ENGINE = 10.0
"""Seconds to wait for things that an engine makes although its answer came too late."""

LATE_LOOK = 1.0
"""Seconds between two looks for such things."""

SWARM_TIMEOUT = 10.0
"""Seconds in which a swarm learns that the containers at all hosts have left a network."""

REMOVAL_TIMEOUT = 30.0
"""Seconds that the engine has to remove the containers."""


@dataclass(frozen=True)
class Removed:
    """Numbers of the things that were removed from the engine."""

    containers: int = 0
    networks: int = 0
    volumes: int = 0
    left: tuple[str, ...] = ()
    """One line for each thing that could not be removed, with the reason."""
    found: tuple[str, ...] = ()
    """Names of the containers and networks that were there."""

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(
            self.containers + other.containers,
            self.networks + other.networks,
            self.volumes + other.volumes,
            self.left + other.left,
            self.found + other.found,
        )


def clean_up(client: DockerClient, run: str | None = None, *, networks: bool = True) -> Removed:
    """Remove every container, network and volume of `run`, or of all runs. Idempotent.

    Without `networks` they stay: only a manager of a swarm may remove those of several hosts.

    A refusal by Docker raises no error: it must not turn a run that went well into a failure.
    """
    try:
        label = {"label": RUN if run is None else f"{RUN}={run}"}
        return _remove_all(client, label, networks)
    except (DockerException, requests.RequestException) as error:
        what = "all runs" if run is None else f"run {run}"
        return Removed(left=(f"Docker failed while what {what} created was removed: {error}",))


def clean_up_hosts(hosts: Hosts, run: str) -> Removed:
    """Remove everything of `run` at all `hosts`, which raises no error either.

    A host that is lost keeps what it has; a line says so.
    """
    ends = [_clean_up_host(host, run) for host in hosts.others]
    ends.append(clean_up(hosts.home.client, run))  # last, as it has the network of all
    return sum(ends, start=Removed())


def _clean_up_host(host: EngineHost, run: str) -> Removed:
    if why := host.lost():
        stays = f"what run {run} has at host {host.name} stays: {why}: `emulate clean` removes it"
        return Removed(left=(f"{stays} once the host is back",))
    removed = clean_up(host.client, run, networks=False)
    host.forget(run)
    return replace(removed, left=tuple(f"at host {host.name}: {why}" for why in removed.left))


def clean_up_late(hosts: Hosts, run: str, unanswered: Iterable[str]) -> tuple[str, ...]:
    """Remove everything of `run`; return a line for each thing that stays, or may appear yet.

    `unanswered` names things that the engine was asked to make, without an answer in time. An
    overloaded engine makes them all the same, later.
    """
    removed, until = clean_up_hosts(hosts, run), time.monotonic() + LATE_ENGINE
    missing = {*unanswered} - {*removed.found}
    while missing and time.monotonic() < until:
        time.sleep(LATE_LOOK)
        removed = clean_up_hosts(hosts, run)
        missing -= {*removed.found}
    doubt = "may appear yet, as Docker has not answered whether it is made: `emulate clean` removes"
    return (*removed.left, *(f"{name} {doubt} it" for name in sorted(missing)))


def _remove_all(client: DockerClient, label: dict[str, str], with_networks: bool) -> Removed:
    api = client.api
    containers = api.containers(all=True, filters=label)
    # side by side: the engine takes most of a second for each container
    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(lambda about: _remove_container(client, about["Id"]), containers))
    found = [name.lstrip("/") for about in containers for name in about["Names"]]
    # the engine removes no network that a container is still attached to
    stuck = _stuck(client, label)
    networks = api.networks(filters=label) if with_networks else []
    nets = [_remove_network(client, network) for network in networks]
    names = [volume["Name"] for volume in api.volumes(filters=label).get("Volumes") or []]
    volumes = [_remove(api.remove_volume, f"volume {name}", name) for name in names]
    left = tuple(filter(None, [*ends, *stuck, *nets, *volumes]))
    found += [network["Name"] for network in networks if "Name" in network]
    return Removed(ends.count(""), nets.count(""), volumes.count(""), left, tuple(found))


def _remove_container(client: DockerClient, name: str) -> str:
    return _remove(client.api.remove_container, f"container {name}", name, force=True, v=True)


def _remove_network(client: DockerClient, network: dict[str, Any]) -> str:
    """Remove `network`; return the reason if it stays, as with a stranger's container attached."""
    name = network.get("Name", network["Id"])
    until = time.monotonic() + (SWARM_TIMEOUT if network.get("Scope") == "swarm" else 0.0)
    while refused := _remove(client.api.remove_network, f"network {name}", network["Id"]):
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    if not refused:
        return ""
    if "in use by task" in refused:
        return (
            f"network {name} stays, as the swarm counts a container in it at a host that is down: "
            "once the host is back, or is no node any more, `emulate clean` removes it"
        )
    attached = client.api.inspect_network(network["Id"]).get("Containers") or {}
    # what a swarm's network has at each host, no container
    attached.pop(f"lb-{name}", None)
    if not attached:
        if "active endpoints" not in refused:
            return refused
        # an engine under load may lose a container, and still count its place in the network
        return (
            f"network {name} stays, as the engine still counts a container in it that is gone: "
            "once the engine was restarted, `emulate clean` removes it"
        )
    names = ", ".join(sorted(container["Name"] for container in attached.values()))
    return (
        f"network {name} stays, as these containers of somebody else's are attached: {names}: "
        "remove them, then `emulate clean` removes it"
    )


def _remove(remove: Callable[..., Any], what: str, *args: Any, **options: Any) -> str:
    """Call `remove` and return the reason of a failure, empty if the thing is gone or going.

    `what` names the thing in that reason.
    """
    try:
        remove(*args, **options)
    except NotFound:
        return ""
    except APIError as error:
        # 409, conflict: the engine is removing the thing already
        return "" if error.status_code == 409 else f"{what} stays: {error.explanation or error}"
    return ""


def _stuck(client: DockerClient, label: dict[str, str]) -> list[str]:
    """Wait until the containers are gone, up to a time-out; return a line that names the rest."""
    until = time.monotonic() + REMOVAL_TIMEOUT
    while left := client.api.containers(all=True, filters=label):
        if time.monotonic() > until:
            names = ", ".join(about["Names"][0].lstrip("/") for about in left if about["Names"])
            return [f"these containers do not go away within {REMOVAL_TIMEOUT:.0f} s: {names}"]
        time.sleep(0.1)
    return []
