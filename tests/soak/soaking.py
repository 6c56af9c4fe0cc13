"""A long run of scenarios/soak.yaml, sampled once a second from outside, and its remains."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from emulator.runtimes.docker.engine import client as engine
from emulator.runtimes.docker.engine.cleanup import RUN
from emulator.scenario import load
from tests.containers.engine_faults import counts_the_gone
from tests.layers import ROOT

from . import processes
from .processes import SERVER, Find, Sample

SCENARIO = ROOT / "scenarios" / "soak.yaml"
EMULATE = Path(sys.executable).with_name("emulate")
BOOT = 600.0
"""Seconds within which the run must begin; the run itself gives up earlier."""
CONDUCTOR = "conductor"
DOWN = 60.0
"""Seconds for which the server may be down: it boots after a crash."""
LAST = 3.0
"""Seconds at the end without samples: the run may end a moment early."""


@dataclass
class Soak:
    """Samples of a run by process, and the remains of the run."""

    summary: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    disk: list[tuple[float, int]] = field(default_factory=list)
    """Seconds of the run, with the bytes of the server's states and inputs at that time."""
    kinds: set[str] = field(default_factory=set)
    """Kinds of the faults in the scenario."""
    remains: list[str] = field(default_factory=list)
    """Containers, networks, processes, interfaces and files that outlived the run."""


def soak(seconds: float, folder: Path, say: Callable[[str], None]) -> Soak:
    """Play the scenario for `seconds` in `folder`; call `say` with the progress.

    RuntimeError with the conductor's words if the run fails.
    """
    temporary, errors = folder / "tmp", folder / "conductor.log"
    temporary.mkdir()
    command = [str(EMULATE), "run", str(SCENARIO)]
    command += ["--set", f"stop.time={seconds:g}s", "--runs", str(folder / "runs"), "--json"]
    environment, found = {**os.environ, "TMPDIR": str(temporary)}, Soak()
    bridges: list[str] = []
    with closing(engine.connect()) as client:
        with (
            errors.open("w") as log,
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=log
            ) as conductor,
        ):
            try:
                run = _begun(conductor, folder / "runs" / "soak" / "latest")
                if run:
                    watched: dict[str, Find] = {CONDUCTOR: partial(int, conductor.pid)}
                    watched |= processes.find(client, run)
                    bridges = _bridges(client, run)
                    server = folder / "runs" / "soak" / "latest" / "server"
                    found.samples, found.disk = _watch(watched, server, seconds, say)
                output, _ = conductor.communicate(timeout=300)
            finally:
                conductor.terminate()
        if conductor.returncode:
            code, words = conductor.returncode, errors.read_text()
            raise RuntimeError(f"the run failed, exit code {code}: {words}")
        found.summary = json.loads(output)
        found.kinds = {fault.kind for fault in load(SCENARIO).faults}
        found.remains = [*_left(client, run, bridges), *map(str, temporary.rglob("*"))]
    return found


def _begun(conductor: "subprocess.Popen[bytes]", latest: Path) -> str:
    """Wait until every device has said hello; return the run's id, empty if the run has failed."""
    log, until = latest / "server" / "run.jsonl", time.monotonic() + BOOT
    while not (log.is_file() and b'"what":"start"' in log.read_bytes()):
        if conductor.poll() is not None:
            return ""
        if time.monotonic() > until:
            raise RuntimeError(f"the run has not begun within {BOOT:g} s")
        time.sleep(0.2)
    run: str = json.loads((latest / "manifest.json").read_text())["id"]
    return run


def _watch(
    watched: dict[str, Find], server: Path, seconds: float, say: Callable[[str], None]
) -> tuple[dict[str, list[Sample]], list[tuple[float, int]]]:
    """Sample the processes once a second, until shortly before the run ends, or one of them does.

    Return the samples, and the bytes of states and inputs in the folder `server`. The server may be
    down for a while. A process that ends early leaves fewer samples than the others, and all leave
    too few.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in watched}
    disk: list[tuple[float, int]] = []
    began = time.monotonic()
    while (at := time.monotonic() - began) < seconds - LAST:
        disk.append((at, _kept(server)))
        for name, process in watched.items():
            try:
                samples[name].append(processes.sample(process(), at))
            except OSError:
                if name == SERVER and at - _last(samples[name]) < DOWN:
                    continue
                say(f"{name} has ended after {at:.0f} s")
                return samples, disk
        if len(samples[CONDUCTOR]) % 60 == 0:
            words = (f"{name} {samples[name][-1].memory / 1e6:.1f}" for name in (CONDUCTOR, SERVER))
            say(f"{at / 60:.0f} min; MB: {', '.join(words)}")
        time.sleep(max(0.0, began + round(at) + 1 - time.monotonic()))
    return samples, disk


def _last(samples: list[Sample]) -> float:
    return samples[-1].at if samples else 0.0


def _kept(folder: Path) -> int:
    """Return the bytes of the states and inputs in the server's `folder`."""
    size = 0
    for file in folder.rglob("*"):
        if file.name != "run.jsonl":
            with suppress(OSError):  # an old state goes once a newer one is there
                size += file.stat().st_size
    return size


def _bridges(client: Any, run: str) -> list[str]:
    """Return the interfaces of the host that belong to the networks of `run`."""
    return [_bridge(network["Id"]) for network in client.api.networks(filters=_of(run))]


def _bridge(network: str) -> str:
    """Return the name of the interface that the engine makes for `network`."""
    return f"br-{network[:12]}"


def _of(run: str) -> dict[str, str]:
    return {"label": f"{RUN}={run}"}


def _left(client: Any, run: str, bridges: list[str]) -> list[str]:
    """Return the containers, networks, interfaces, rules and processes that are left of `run`.

    A network is left out, with its bridge, if the engine counts a container in it that is gone.
    """
    api, label = client.api, _of(run)
    left = [each["Id"] for each in api.containers(all=True, filters=label)]
    networks = [each["Id"] for each in api.networks(filters=label)]
    lost = [each for each in networks if counts_the_gone(client, each)]
    left += [each for each in networks if each not in lost]
    bridges = [bridge for bridge in bridges if not any(_bridge(each) == bridge for each in lost)]
    left += [each["Name"] for each in api.volumes(filters=label)["Volumes"] or []]
    interfaces = os.listdir("/sys/class/net")
    left += [bridge for bridge in bridges if bridge in interfaces]
    for rules in (["nft", "list", "ruleset"], ["iptables-save"], ["tc", "qdisc", "show"]):
        try:
            said = subprocess.run(rules, capture_output=True, text=True).stdout
        except FileNotFoundError:
            continue
        left += [f"{rules[0]}: {bridge}" for bridge in bridges if bridge in said]
    return left + _processes(run)


def _processes(run: str) -> list[str]:
    """Return the command lines of processes that name `run`, in arguments or environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            command = (folder / "cmdline").read_bytes()
            if run.encode() in command + (folder / "environ").read_bytes():
                found.append(command.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has ended
    return found
