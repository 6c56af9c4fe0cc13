"""Everything that local engines are on a machine, as the system shows it, and not their code."""

import json
import os
import subprocess
from pathlib import Path

from emulator.runtimes.swarm.local_engines import LocalEngine


def traces(engine: LocalEngine) -> set[str]:
    """Return the links, namespaces, mounts, processes, control groups and files of the cluster of
    `engine`."""
    links = subprocess.run(["ip", "-json", "link"], capture_output=True, text=True, check=True)
    found = {f"link {link['ifname']}" for link in json.loads(links.stdout)}
    found |= {
        f"file {path}" for folder in ("/run", "/run/netns") for path in Path(folder).iterdir()
    }
    found |= {f"mount {line.split()[4]}" for line in _lines("/proc/self/mountinfo")}
    for root in Path("/sys/fs/cgroup").glob("*"):
        found |= {f"group {path}" for path in root.glob("emulate-*/**")}
    found |= {f"process {pid}: {words}" for pid, words in _processes()}
    folder = Path(engine.socket.removeprefix("unix://")).parents[1]
    found |= {f"file {path}" for path in folder.glob("*")}
    marks = (engine.namespace.split("-")[1], str(folder))
    return {each for each in found if any(mark in each for mark in marks)}


def traces_of_one(engine: LocalEngine) -> set[str]:
    """Return the traces of `engine` alone, but not its disk."""
    tag = engine.namespace.split("-")[1]
    marks = (f"{engine.name}/", engine.namespace, f"{tag}/{engine.number}")
    return {each for each in traces(engine) if any(mark in each for mark in marks)}


def _processes() -> list[tuple[str, str]]:
    """Return the processes with their command lines and control groups."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if words:  # those that have ended have none
                found.append((pid, f"{words} {' '.join(_lines(f'/proc/{pid}/cgroup'))}"))
        except OSError:  # it ended meanwhile
            continue
    return found


def _lines(path: str) -> list[str]:
    return Path(path).read_text(errors="replace").splitlines()
