"""A scenario on three engines of one machine, `emulate` with their manager, and what they have."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from docker import DockerClient

from analysis.reading.runs import Run, read
from emulator.runtimes.swarm.local_engines import LocalEngine, LocalEngines

USUAL = dict(os.environ)
"""The environment without the cache folder of the engines: the data are in the usual one."""

SCENARIO = """\
name: three-hosts
seed: 3
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
evaluate: {every: 100}
stop: {updates: UPDATES, time: 3min}
server: {durability: update}
devices:
  - {name: near, host: engine-1, link: {up: {rate: 4mbit, delay: 20ms}, down: {rate: 8mbit}}}
  - name: far
    count: 2
    host: engine-2
    link: {up: {rate: 4mbit, delay: 20ms}, down: {rate: 8mbit}}
  - {name: slow, host: engine-3, profile: raspberry-pi-4}
faults:
  - {kind: crash, nodes: [slow], at: 2s, lasts: 2s}
  - {kind: partition, nodes: [far-0], at: 3s, lasts: 2s}
  - {kind: pause, nodes: [far-1], at: 3s, lasts: 1s}
"""


def things(engine: LocalEngine) -> dict[str, list[str]]:
    """Return what an engine has of the emulator's, by kind."""
    if not engine.up():
        return {}
    marked = {"label": "emulate.run"}
    with closing(DockerClient(base_url=engine.socket)) as client:
        api: Any = client.api
        found = {
            "containers": [str(each["Names"]) for each in api.containers(all=True, filters=marked)],
            "networks": [each["Name"] for each in api.networks(filters=marked)],
            "volumes": [each["Name"] for each in api.volumes()["Volumes"] or []],
        }
        if engine.number == 1:
            found["services"] = [each["Spec"]["Name"] for each in api.services()]
            found["secrets"] = [each["Spec"]["Name"] for each in api.secrets()]
    return {kind: names for kind, names in found.items() if names}


def left(engines: LocalEngines) -> list[dict[str, list[str]]]:
    """Return what the engines have; a swarm's hosts may take a moment to remove what its managers
    know as ended."""
    ends = time.monotonic() + 10.0
    while (found := [*filter(None, map(things, engines.engines))]) and time.monotonic() < ends:
        time.sleep(0.2)
    return found


class Manager:
    """`emulate` with the swarm's manager as its engine."""

    def __init__(self, engines: LocalEngines, folder: Path) -> None:
        self.folder, self.manager = folder, engines.engines[0]
        self.environment = USUAL | {"DOCKER_HOST": self.manager.socket}

    def __call__(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self._command(words), capture_output=True, text=True, env=self.environment
        )

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self._command(words),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )

    def run(self, updates: int, *words: str) -> tuple[str, ...]:
        """Write the scenario; return the words that play it."""
        file = self.folder / "three-hosts.yaml"
        file.write_text(SCENARIO.replace("UPDATES", str(updates)))
        return ("run", str(file), "--on", "swarm", "--runs", str(self.folder / "runs"), *words)

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "emulator", *words]

    @property
    def latest(self) -> Run:
        return read(self.folder / "runs" / "three-hosts" / "latest")

    def resume(self) -> "subprocess.CompletedProcess[str]":
        """Go on with the latest run."""
        runs = self.folder / "runs"
        name = (runs / "three-hosts" / "latest").resolve().name
        return self("resume", name.rpartition("-")[2], "--runs", str(runs))


def follow(process: "subprocess.Popen[str]", words: str, do: Callable[[], None]) -> tuple[int, str]:
    """Call `do` two seconds after `process` has printed `words`; return its code and output."""
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line)
            if words in line:
                time.sleep(2.0)
                do()
    except BaseException:
        process.terminate()  # it cleans up
        process.wait()
        raise
    finally:
        process.stdout.close()
    return process.wait(), "".join(said)


def ready(manager: LocalEngine) -> set[str]:
    with closing(DockerClient(base_url=manager.socket)) as client:
        nodes = client.api.nodes()
    return {n["Description"]["Hostname"] for n in nodes if n["Status"]["State"] == "ready"}


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.2)
