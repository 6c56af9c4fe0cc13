"""Workers that a fork server starts: what they may do, and how they live and die."""

import json
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.forks import SHARED
from emulator.runtimes.docker.images import node_image
from tests.containers.conftest import TINY, running, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

TIMED = TINY.replace("updates: 300, time: 60s", "time: 2min")
RESTING = TIMED + "faults: [{kind: straggler, nodes: all, delay: 10s, at: 0s}]\n"
"""Workers that leave the host time: they are looked at, and do not have to train."""
PAIR = RESTING.replace("name: tiny", "name: executed")
FOUR = "{name: right, count: 4}"
FLEET = TIMED.replace("{name: right}", FOUR).replace("tiny", "forked")
AT_REST = RESTING.replace("{name: right}", FOUR).replace("tiny", "forked")

OF_ONE_PROCESS = re.compile(
    r"State|Tgid|Pid|PPid|NS\w+|FDSize|Vm\w+|Hugetlb\w*|Rss\w+|Threads|SigQ|\w*voluntary_ctxt_switches"
)
"""Fields of `/proc/PID/status` that tell who and how large a process is, and not what it may."""

FILES = (
    *("limits", "oom_score_adj", "personality", "coredump_filter", "timerslack_ns"),
    *("uid_map", "gid_map", "setgroups", "timens_offsets", "loginuid", "sessionid"),
)
SURROUNDINGS = ("cgroup", "mountinfo")
"""Files in which a worker and its supervisor are equal."""


def worker(client: Any, below: Path, device: str) -> tuple[int, int]:
    """Process ids, on this host, of the supervisor and the worker of `device`."""
    (container,) = running(client, below, device=device)
    supervisor = container.attrs["State"]["Pid"]
    (child,) = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return supervisor, int(child)


def rights(pid: int) -> dict[str, Any]:
    """What the process may do, as the kernel tells in /proc."""
    files = Path(f"/proc/{pid}")
    lines = dict(line.split(":", 1) for line in (files / "status").read_text().splitlines())
    status = {key: value.strip() for key, value in lines.items()}
    known: dict[str, Any] = {
        key: value for key, value in status.items() if not OF_ONE_PROCESS.fullmatch(key)
    }
    known |= {name: (files / name).read_text() for name in FILES if (files / name).exists()}
    known |= {name: os.readlink(files / name) for name in ("root", "cwd", "exe")}
    known["owner"] = (files / "status").stat().st_uid
    known["leads its session"] = status["NSsid"] == status["NSpid"] == status["NSpgid"]
    numbers = (files / "stat").read_text().rpartition(")")[2].split()
    known["nice and policy"] = numbers[16], numbers[38]
    known["arguments"] = (files / "cmdline").read_bytes().split(b"\0")[1:4]
    known["label"] = label(files / "attr/current")
    return known


def label(file: Path) -> str:
    """Label of a security module; empty without any."""
    try:
        return file.read_text()
    except OSError:
        return ""


def namespaces(pid: int) -> dict[str, str]:
    folder = Path(f"/proc/{pid}/ns")
    return {kind.name: os.readlink(kind) for kind in folder.iterdir()}


def test_a_forked_worker_may_do_what_an_executed_one_may(start, client, tmp_path):
    fleet, pair = start(AT_REST), start(PAIR)
    found, memory = {}, {}
    for name, device in (("forked", "right-0"), ("executed", "right")):
        supervisor, part = worker(client, tmp_path / "runs" / name, device)
        found[name] = rights(part)
        memory[name] = group_memory(part)
        assert namespaces(part) == namespaces(supervisor), name
        for file in SURROUNDINGS:
            same = [Path(f"/proc/{pid}/{file}").read_text() for pid in (part, supervisor)]
            assert same[0] == same[1], f"{name}: {file}"
    assert found["forked"] == found["executed"]
    assert (found["forked"]["CapEff"], found["forked"]["NoNewPrivs"]) == ("0" * 16, "1")
    assert found["forked"]["Seccomp"] == "2" and found["forked"]["oom_score_adj"] == "1000\n"
    # what a fork shares is taken off the limit of its container
    assert abs(memory["executed"] - memory["forked"] - SHARED) < 4 << 20
    assert not running(client, tmp_path, role="fork_server")
    for process in (fleet, pair):
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.wait()


def group_memory(pid: int) -> int:
    """Bytes that the kernel counts for the container of the process `pid`."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if controllers == "memory":
            stat = Path(f"/sys/fs/cgroup/memory{path}/memory.stat").read_text()
            return int(dict(row.split() for row in stat.splitlines())["rss"])
        if number == "0" and Path(f"/sys/fs/cgroup{path}/memory.stat").exists():
            stat = Path(f"/sys/fs/cgroup{path}/memory.stat").read_text()
            return int(dict(row.split() for row in stat.splitlines())["anon"])
    raise AssertionError("no group counts memory")


def test_forked_workers_fail_and_come_back(play):
    """A crash, a pause, a leave and a loss of power strike forked workers; the reboots do not."""
    faults = """
server: {durability: update}
faults:
  - {kind: crash, nodes: [right-0], at: 2s, lasts: 1s}
  - {kind: pause, nodes: [right-1], at: 2s, lasts: 2s}
  - {kind: leave, nodes: [right-2], at: 2s, lasts: 1s}
  - {kind: memory, nodes: [right-3], takes: 60%, at: 2s, lasts: 3s}
  - {kind: server-crash, at: 6s, lasts: 1s}
"""
    text = FLEET.replace("time: 2min", "time: 12s") + faults
    text = text.replace("{name: right, count: 4}", "{name: right, count: 4, profile: {cpu: 40%}}")
    run = play(text)
    assert run.summary["outcome"] == "success" and not run.said("exit")
    assert [r["incarnation"] for r in run.said("hello", node="right-0")][:2] == [0, 1]
    assert [r["incarnation"] for r in run.said("hello", node="right-2")][:2] == [0, 1]
    for node in ("left", *(f"right-{number}" for number in range(4))):
        assert [u for u in run.said("update", node=node) if u["at"] > 8.0], node
    (paused,), (resumed,) = run.said("pause"), run.said("resume")
    stood_still = paused["at"] + 1.0, resumed["at"]  # an update may be under way
    updates = [u["at"] for u in run.said("update", node="right-1")]
    assert not [at for at in updates if stood_still[0] < at < stood_still[1]]
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert manifest["workers"] == "forked"


def test_the_death_of_the_fork_server_ends_the_start_with_its_reason(emulate, client, tmp_path):
    killed = threading.Event()

    def kill():
        def found():
            servers = running(client, tmp_path, role="fork_server")
            pids.extend(one.attrs["State"]["Pid"] for one in servers)
            return any(pids)

        pids = []
        until(found, 60)
        os.kill(max(pids), signal.SIGKILL)
        killed.set()

    killer = threading.Thread(target=kill)
    killer.start()
    (tmp_path / "scenario.yaml").write_text(FLEET)
    done = emulate("run", "scenario.yaml", "--no-report", check=False)
    killer.join()
    assert done.returncode == 1 and killed.is_set()
    assert "the fork server ended unasked: its container ended, killed by signal 9" in done.stderr


TWO_FORKS = """
import atexit, os, sys, threading, time
import numpy as np
from emulator.node.forking.fork_messages import Fork
from emulator.node.forking.fork_server import forked

def part():
    print("drew", np.random.random(), file=sys.stderr)
    atexit.register(print, "at exit", file=sys.stderr)
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread", file=sys.stderr))).start()
    sys.exit("last words")

from emulator.node.forking import fork_server
np.random.random()
for _ in range(2):
    child = os.fork()
    if not child:
        stranger = fork_server.stranger()
        if forked(Fork("x", stranger, "", 0, 2, 0), 65534) is None:
            part()
        time.sleep(1.5)
        os.kill(stranger, 9)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_forks_draw_numbers_of_their_own_and_end_as_any_process(client):
    """Also those of NumPy's global generator, which a plugin may use."""
    image = node_image.require(client).id
    options = spec.fork_trial("forks-draw", image, {"emulate.run": "forks-draw"})
    options |= {"entrypoint": ["python3", "-c", TWO_FORKS], "command": []}
    container = client.containers.create(**options)
    try:
        container.start()
        assert container.wait(timeout=60)["StatusCode"] == 0
        said = container.logs().decode().splitlines()
    finally:
        container.remove(force=True)
    drawn = [line for line in said if line.startswith("drew")]
    assert len(set(drawn)) == 2, said
    assert [said.count(word) for word in ("at exit", "thread", "last words")] == [2, 2, 2]


@pytest.mark.parametrize("lacks", ["SETPCAP", "SYS_ADMIN", "SYS_CHROOT"])
def test_an_engine_that_cannot_says_why(client, monkeypatch, lacks):
    given = [each for each in spec.FORKS["cap_add"] if each != lacks]
    monkeypatch.setitem(spec.FORKS, "cap_add", given)
    engine = connect()
    why = probing.forks_refused(engine, node_image.require(engine).id)
    assert "not permitted" in why or "denied" in why
