"""A container as the runtime wants it."""

from pathlib import Path

from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine.cleanup import labels

MARKS = labels("abc123", "pair", "/runs/pair/1", "/locks/abc123", "device", "far")
WANTED = spec.Container(
    node="far",
    image="sha256:1",
    network="emulate-abc123-wan",
    labels=MARKS,
    mounts={"/etc/emulate/node.json": Path("/w/far.json"), "/output": Path("/w/out")},
    cpu=0.2,
    memory=256 << 20,
)
