"""The entries of the manifest that only runs in containers have: image, engine, kernel, shaping."""

from typing import Any

from docker import DockerClient

from ....machine import kernel
from ....machine.host import Host
from ....scenario import Scenario
from ....shaping.backend import Backend
from ..engine.client import refusals
from ..engine.endpoint import endpoint
from ..images.node_image import NAME, NodeImage

_QUEUES = {"htb": "htb, a queue for each member", "tbf": "tbf, one queue for all members"}
"""Words for the queues of bottlenecks in a gateway's container."""
PACKAGES = ("docker", "msgspec", "numpy", "pydantic", "pyzmq", "tensorflow")


def facts(
    client: DockerClient, scenario: Scenario, host: Host, backend: Backend, image: NodeImage
) -> dict[str, Any]:
    """Return the entries for the manifest, beside those of `Session.describe`."""
    with refusals("asking the engine for its version"):
        engine = client.version()
    return {
        "image": {"name": NAME, "digest": image.id, "labels": image.labels},
        "kernel": host.kernel,
        "engine": engine["Version"],
        "endpoint": endpoint().plain(),
        "shaping": backend.plain(),
        "tcp": scenario.tcp.congestion if scenario.tcp else kernel.default_congestion(),
        "encrypted": scenario.server.encrypt,
        **bottlenecks(scenario, backend),
        **({} if scenario.time is None else {"dilation": scenario.dilation}),
    }


def bottlenecks(scenario: Scenario, backend: Backend) -> dict[str, Any]:
    """Return the members of each bottleneck, and what holds its packets; nothing without any."""
    members = scenario.bottleneck_of
    entries = {
        each.name: {
            "queue": _QUEUES[backend.shared],
            "members": [name for name in members if members[name] is each],
        }
        for each in scenario.bottlenecks
    }
    return {"bottlenecks": entries} if entries else {}
