"""Probes this kernel's means to shape links, in a container with the rights of a node's."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from docker import DockerClient
from docker.errors import APIError
from docker.types import LogConfig

from ...errors import DeploymentError, HostError
from ...runs.folder import new_id
from ...scenario import Device, Scenario, Timed
from ...scenario.reshaped_links import reshaped_links
from ...shaping.backend import Backend, Delay, choose
from ...shaping.features import Features
from ...world.link import Link, Side
from ...world.verbs import row
from .cleanup import clean_up
from .client import finished, refusals
from .labels import LOCK, ROLE, RUN
from .owners import owned, place
from .spec import TUN

PROBE = ["python3", "-m", "emulator.shaping.probe"]


def probe(client: DockerClient, image: str) -> Features:
    """Try every mechanism in a throwaway container; return the features that work.

    The run has no id before its folder is created, so the probe is labelled with its own.
    """
    run = new_id()
    with owned(run), refusals("probing what the kernel can shape"):
        try:
            return Features.read(json.loads(_answer(client, image, run)))
        finally:
            clean_up(client, run)


def _answer(client: DockerClient, image: str, run: str) -> bytes:
    container = _started(client, image, run)
    if container.wait()["StatusCode"]:
        words = container.logs(stdout=False).decode(errors="replace").strip()
        raise DeploymentError(f"the probe of the kernel failed: {words}")
    answer: bytes = container.logs(stderr=False)
    return answer


def _started(client: DockerClient, image: str, run: str) -> Any:
    """Start the probe, with `TUN` if the engine can give it; return the container."""
    try:
        container = _created(client, image, run, [TUN])
        container.start()
    except APIError:
        container = _created(client, image, run, [])
        container.start()
    return container


def _created(client: DockerClient, image: str, run: str, devices: list[str]) -> Any:
    return finished(
        client.containers.create,
        image,
        entrypoint=PROBE,
        command=[],
        network_mode="none",
        devices=devices,
        cap_drop=["ALL"],
        cap_add=["NET_ADMIN"],
        security_opt=["no-new-privileges"],
        read_only=True,
        tmpfs={"/tmp": "size=1m", "/run": "size=1m"},
        log_config=LogConfig(type="json-file"),
        labels={RUN: run, LOCK: str(place(run)), ROLE: "probe"},
    )


def backend_for(
    client: DockerClient,
    image: str,
    scenario: Scenario,
    timeline: Sequence[Timed],
    shaping: Delay | None = None,
    *,
    boxes: bool = True,
) -> Backend:
    """Choose the means by which this kernel shapes and cuts the links of `scenario`.

    `timeline`: the scenario's compiled schedule; `shaping` forces the means of delays; `boxes`:
    whether a box could hold packets. Raises HostError if the kernel lacks a means.
    """
    links = {scenario.server.link, *(device.link for device in scenario.nodes)}
    links.update(*set(reshaped_links(scenario).values()))
    links.update(_around_bottlenecks(scenario))
    found = probe(client, image)
    features = found if boxes else replace(found, tun=False)
    wanted = cuts_needed(timeline, scenario.nodes, features)
    # an empty battery is a loss of power, too
    cuts = wanted or (bool(scenario.batteries) and features.nftables)
    backend = choose(features, links, cuts, shaping)
    return _with_queues(backend, features) if scenario.bottlenecks else backend


def _with_queues(backend: Backend, features: Features) -> Backend:
    """Return `backend` with the queues of bottlenecks. Raises HostError if there can be none."""
    if not (features.ifb and backend.rate in ("tbf", "htb")):
        raise HostError(
            "bottlenecks: this kernel cannot queue the packets of several devices: a gateway needs "
            "ifb, sch_ingress, cls_u32, act_mirred, and sch_tbf or sch_htb: load the modules, or "
            "play the scenario with --on virtual"
        )
    return replace(backend, shared="htb" if features.htb else "tbf")


def _around_bottlenecks(scenario: Scenario) -> Iterator[Link]:
    """Yield the links of gateways, and those of the members with the bottlenecks' delays."""
    for bottleneck in scenario.bottlenecks:
        yield Link(Side(bottleneck.up.rate), Side(bottleneck.down.rate))
    for device in scenario.nodes if scenario.bottlenecks else ():
        if behind := scenario.bottleneck_of.get(device.name):
            yield behind.shared.lengthen(device.link)


def cuts_needed(timeline: Iterable[Timed], devices: Iterable[Device], features: Features) -> bool:
    """Return whether the backend must be able to cut links, by the faults of a scenario.

    The faults are those of `timeline` and those that `devices` draw by iteration. A crash is the
    truer for a cut before it, but can do without where the kernel has no nftables.
    """
    drawn = {hazard["begin"] for device in devices for hazard in device.hazards}
    verbs = {row(name) for name in drawn | {timed.action.verb for timed in timeline}}
    crashes = any(verb.ends_process for verb in verbs)
    return any(verb.severs for verb in verbs) or (crashes and features.nftables)


def described(plain: Mapping[str, Any]) -> str:
    """Return the entries of features or of a backend as one line."""
    return ", ".join(f"{what} {_word(how)}" for what, how in plain.items())


def _word(how: Any) -> str:
    return {True: "yes", False: "no"}.get(how, f"by {how}")
