"""The entries of the manifest that only runs in containers have: image, engine, kernel, shaping."""

from pathlib import Path
from typing import Any

from docker import DockerClient

from ...machine.host import Host
from ...scenario import Scenario
from ...shaping.backend import Backend
from .client import refusals
from .images.node_image import NAME, NodeImage

CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")
"""The host's TCP congestion control, which containers inherit; its effect shows on slow links."""

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
        "shaping": backend.plain(),
        "tcp": CONGESTION.read_text().strip(),
        "encrypted": scenario.server.encrypt,
        **({} if scenario.time is None else {"dilation": scenario.dilation}),
    }
