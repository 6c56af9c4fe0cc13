"""Probe of a container: its mounts, limits and kernel, and the kernel's means of shaping.

Run as `python3 -m emulator.node.engine_probe UID` in a container that is made as a device's, with
the mounts of a server: an engine may accept a limit or a mount, and keep neither. Prints one line
of JSON.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from ..errors import DeploymentError
from ..shaping.probe import probe
from . import config
from .control_group import cpu_quota, memory_limit

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""File with an id of the running kernel, which is another after each boot and in each machine."""


def report(user: int) -> dict[str, Any]:
    """Return the facts of this container; `user` is the id of a node's processes.

    `boot`: id of the kernel; `mounts`: the error of the mounts' use, empty without an error;
    `quota`: cores, and `memory`: bytes, each None without a limit; `files`: files that a process
    may open once it has raised its limit; `features`: those of shaping.
    """
    return {
        "boot": BOOT.read_text(encoding="utf-8").strip(),
        "mounts": _mounts(user),
        "quota": cpu_quota(),
        "memory": memory_limit(),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "features": probe().plain(),
    }


def _mounts(user: int) -> str:
    """Read the configuration and write to the output folder as `user`; return the error."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, _use(user).encode())
        os._exit(0)
    os.close(write)
    os.wait()
    with os.fdopen(read) as answer:
        return answer.read()


def _use(user: int) -> str:
    try:
        os.setgid(user)
        os.setuid(user)
        config.PATH.read_bytes()
        (config.OUTPUT / "probe").write_bytes(b"x")
    except OSError as error:
        return str(error)
    return ""


def main() -> int:
    """Print the report as JSON; return the exit status."""
    try:
        print(json.dumps(report(int(sys.argv[1]))))
    except DeploymentError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
