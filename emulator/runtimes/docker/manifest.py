"""What only a run on Docker was made with, so that it can be judged and made again."""

from pathlib import Path
from typing import Any

from docker import DockerClient

from ...machine.host import Host
from ...scenario import Scenario
from ...shaping.backend import Backend
from .client import refusals
from .images.node_image import NAME, NodeImage

CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")
"""Containers start with the host's congestion control, and it shows on slow links."""

PACKAGES = ("docker", "msgspec", "numpy", "pydantic", "pyzmq", "tensorflow")


def facts(
    client: DockerClient, scenario: Scenario, host: Host, backend: Backend, image: NodeImage
) -> dict[str, Any]:
    """For the manifest, beside what every runtime says."""
    with refusals("asking the engine for its version"):
        engine = client.version()
    return {
        "image": {"name": NAME, "digest": image.id, "labels": image.labels},
        "kernel": host.kernel,
        "engine": engine["Version"],
        "shaping": backend.plain(),
        "tcp": CONGESTION.read_text().strip(),
        "encrypted": scenario.server.encrypt,
    }
