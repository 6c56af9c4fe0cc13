"""What the tests on real containers share: an engine, tiny scenarios, and clean ground."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.errors import EmulatorError
from tests.containers.engine_faults import counts_the_gone

EMULATE = Path(sys.executable).with_name("emulate")

TINY = """
# Do two devices and a server find each other?
name: tiny
training: {dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1}
evaluate: {every: 100}
stop: {updates: 300, time: 60s}
devices:
  - {name: left}
  - {name: right}
"""


@pytest.fixture(scope="session")
def client():
    """The engine, with an image of this very code; else the tests are skipped, saying why."""
    from emulator.runtimes.docker.engine import client
    from emulator.runtimes.docker.images import node_image

    try:
        client = client.connect()
        node_image.require(client)
    except EmulatorError as error:
        pytest.skip(f"no engine with the node image: {error}")
    yield client
    client.close()


def present(client, below):
    """Return the ids of containers, networks and volumes of runs in folders `below` a path."""
    label = {"label": "emulate.folder"}
    things = client.api.containers(all=True, filters=label)
    things += client.api.networks(filters=label)
    things += client.api.volumes(filters=label)["Volumes"] or []
    folders = [(thing, Path(thing["Labels"]["emulate.folder"])) for thing in things]
    return {t.get("Id") or t["Name"] for t, folder in folders if folder.is_relative_to(below)}


def running(client, below, **labels):
    """Return the running containers of runs in folders `below` a path, with all `labels`.

    Others' runs on the engine begin and end meanwhile.
    """
    asked = [f"emulate.{key}={value}" for key, value in labels.items()] or ["emulate.folder"]
    found = client.containers.list(filters={"label": asked}, ignore_removed=True)
    return [one for one in found if Path(one.labels["emulate.folder"]).is_relative_to(below)]


def left(client, below):
    """Return what is `present` of runs that have ended.

    A network is left out if the engine counts a container in it that is gone.
    """
    return {thing for thing in present(client, below) if not counts_the_gone(client, thing)}


class Ours:
    """What the runs of one test have in the engine, by id.

    What belongs to runs with a folder elsewhere is somebody else's, who may be playing them now;
    a network that the engine kept from an earlier test is no one's.
    """

    def __init__(self, client, base):
        self._client, self._base = client, base
        self._before = present(client, base)

    def __call__(self):
        return present(self._client, self._base) - self._before

    def left(self):
        """Return what is there of runs that have ended; the engine's own mistakes are not."""
        return left(self._client, self._base) - self._before

    def gone(self, seconds):
        """Wait for the runs' things to go; false if some of them stay."""
        began = time.monotonic()
        while self() and time.monotonic() - began < seconds:
            time.sleep(0.1)
        return not self.left()


@pytest.fixture
def ours(client, tmp_path_factory):
    """What this test's runs have in the engine; nothing in the end."""
    ours = Ours(client, tmp_path_factory.getbasetemp())
    yield ours
    assert not ours.left()


@pytest.fixture
def emulate(tmp_path, ours):
    """Run a command of the command line in an empty folder; scenario text becomes a file."""

    def run(*arguments, check=True, timeout=280):
        done = subprocess.run(
            [EMULATE, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=timeout
        )
        if check and done.returncode:
            raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    return run


@pytest.fixture
def play(emulate, tmp_path):
    """Play scenario text to its end; the summary, the records and the folder come back."""

    def run(text, *options, **how):
        (tmp_path / "scenario.yaml").write_text(text)
        done = emulate("run", "scenario.yaml", "--json", "--no-report", *options, **how)
        return Outcome(json.loads(done.stdout))

    return run


@pytest.fixture
def play_together(tmp_path, ours):
    """Play several scenario texts at once, as most of a short run is its start and its end."""

    def run(*texts):
        with ThreadPoolExecutor() as pool:
            return list(pool.map(_played, texts, map(str, range(len(texts)))))

    def _played(text, name):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "scenario.yaml").write_text(text)
        command = [EMULATE, "run", "scenario.yaml", "--json", "--no-report"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return Outcome(json.loads(done.stdout))

    return run


@contextmanager
def begun(texts, tmp_path_factory, together):
    """Yield the runs of `texts` by their keys, `together` at a time: each a future of the folder
    and the ended process."""

    def play(key):
        (folders[key] / "scenario.yaml").write_text(texts[key])
        command = [EMULATE, "run", "scenario.yaml", "--json", "--no-report"]
        pipes = {"capture_output": True, "text": True, "timeout": 240}
        return folders[key], subprocess.run(command, cwd=folders[key], **pipes)

    # The factory is not safe for threads: its first call makes the folder of all folders.
    folders = {key: tmp_path_factory.mktemp("run") for key in texts}
    with ThreadPoolExecutor(together) as pool:
        yield {key: pool.submit(play, key) for key in texts}


@pytest.fixture
def start(tmp_path, ours):
    """Begin to play scenario text; the process comes back once the run has begun."""
    processes = []

    def run(text):
        (tmp_path / "scenario.yaml").write_text(text)
        process = subprocess.Popen(
            [EMULATE, "run", "scenario.yaml", "--no-report"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        said = []
        for line in process.stdout:
            said.append(line)
            if "start:" in line:
                return process
        raise AssertionError(f"the run did not begin, exit code {process.wait()}: {said}")

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()


class Outcome:
    """A finished run."""

    def __init__(self, summary):
        self.summary = summary
        self.folder = Path(summary["run"])
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        self.records = [json.loads(line) for line in lines]

    def __repr__(self):
        return self.folder.name

    def said(self, what, **facts):
        return [
            record
            for record in self.records
            if record["what"] == what and all(record.get(k) == v for k, v in facts.items())
        ]


def until(condition, seconds):
    """Wait for something to become true; how long that took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"not within {seconds} s"
        time.sleep(0.1)
    return time.monotonic() - began
