"""What a run was made with, so that it can be judged and made again."""

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docker import DockerClient

from ...folder import RunFolder
from ...host import Host
from ...scenario import Scenario
from ...shaping.backend import Backend
from .border import refusals
from .image import NAME, NodeImage

CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")
"""Containers start with the host's congestion control, and it shows on slow links."""

PACKAGES = ("docker", "msgspec", "numpy", "pydantic", "pyzmq", "tensorflow-cpu")


def manifest(
    client: DockerClient,
    scenario: Scenario,
    folder: RunFolder,
    host: Host,
    backend: Backend,
    image: NodeImage,
) -> dict[str, Any]:
    with refusals("asking the engine for its version"):
        engine = client.version()
    return {
        "id": folder.run,
        "scenario": scenario.name,
        "algorithm": scenario.training.described,
        "runtime": "docker",
        "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "versions": {
            "emulate": version("edge-emulate"),
            **{package: version(package) for package in PACKAGES},
        },
        "image": {"name": NAME, "digest": image.id, "labels": image.labels},
        "kernel": host.kernel,
        "engine": engine["Version"],
        "host": host.plain(),
        "shaping": backend.plain(),
        "tcp": CONGESTION.read_text().strip(),
        "encrypted": scenario.server.encrypt,
    }
