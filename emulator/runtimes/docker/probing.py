"""Which way of shaping this kernel offers, asked of a container like those that will need it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from docker import DockerClient
from docker.types import LogConfig

from ...errors import DeploymentError
from ...runs.folder import new_id
from ...scenario import Scenario, Timed
from ...shaping.backend import Backend, choose
from ...shaping.features import Features
from .cleanup import sweep
from .client import finished, refusals
from .labels import LOCK, ROLE, RUN
from .owners import owned, place

PROBE = ["python3", "-m", "emulator.shaping.probe"]


def probe(client: DockerClient, image: str) -> Features:
    """Try every queueing discipline in a throwaway container.

    Until its folder is made a run is not known by its own id, so a probe has one for itself.
    """
    run = new_id()
    with owned(run), refusals("probing what the kernel can shape"):
        try:
            return Features.read(json.loads(_answer(client, image, run)))
        finally:
            sweep(client, run)


def _answer(client: DockerClient, image: str, run: str) -> bytes:
    container = finished(
        client.containers.create,
        image,
        entrypoint=PROBE,
        command=[],
        network_mode="none",
        cap_drop=["ALL"],
        cap_add=["NET_ADMIN"],
        security_opt=["no-new-privileges"],
        read_only=True,
        tmpfs={"/tmp": "size=1m", "/run": "size=1m"},
        log_config=LogConfig(type="json-file"),
        labels={RUN: run, LOCK: str(place(run)), ROLE: "probe"},
    )
    container.start()
    if container.wait()["StatusCode"]:
        words = container.logs(stdout=False).decode(errors="replace").strip()
        raise DeploymentError(f"the probe of the kernel failed: {words}")
    answer: bytes = container.logs(stderr=False)
    return answer


def backend_for(
    client: DockerClient, image: str, scenario: Scenario, timeline: Sequence[Timed]
) -> Backend:
    """Choose how this kernel shapes and cuts the links of `scenario`.

    `timeline` is the scenario's, compiled. Raises HostError if the kernel cannot.
    """
    links = [scenario.server.link, *(device.link for device in scenario.nodes)]
    features = probe(client, image)
    kinds = {timed.action.verb for timed in timeline}
    kinds |= {hazard["kind"] for device in scenario.nodes for hazard in device.hazards}
    # a crash is the truer for a cut before it, but can do without
    cuts = bool(kinds & {"sever", "partition"}) or (bool(kinds) and features.nftables)
    return choose(features, links, cuts)


def described(plain: Mapping[str, Any]) -> str:
    """Features or a backend in one line."""
    return ", ".join(f"{what} {_word(how)}" for what, how in plain.items())


def _word(how: Any) -> str:
    return {True: "yes", False: "no"}.get(how, f"by {how}")
