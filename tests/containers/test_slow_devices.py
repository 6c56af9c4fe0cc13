"""Devices with little processor time or none, on real containers, seen from outside."""

import json
import re
import threading
import time

import pytest

from tests.containers.conftest import TINY, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(120)]


def world(**parts):
    text = TINY.replace("updates: 300, time: 60s", parts.get("stop", "time: 14s"))
    text = text.replace("{name: left}", parts.get("left", "{name: left}"))
    text = text.replace("{name: right}", parts.get("right", "{name: right}"))
    return text + parts.get("rest", "")


class Watch(threading.Thread):
    """Reads again and again what the engine says of the containers of the tests' runs."""

    def __init__(self, client, ours, read):
        super().__init__(daemon=True)
        self._client, self._ours, self._read = client, ours, read
        self._over = threading.Event()
        self.seen = []  # monotonic time, node, value; one entry for each change

    def run(self):
        last = {}
        while not self._over.wait(0.05):
            for container in self._client.api.containers(filters={"label": "emulate.device"}):
                if container["Id"] not in self._ours():
                    continue
                try:
                    value = self._read(container["Id"])
                except Exception:
                    continue  # the container has ended
                node = re.sub(r".*-", "", container["Names"][0])
                if last.get(node, "nothing") != value:
                    last[node] = value
                    self.seen.append((time.monotonic(), node, value))

    def end(self):
        self._over.set()
        self.join()
        return self.seen


@pytest.fixture
def quotas(client, ours):
    """Watch the CPU quotas of containers, in cores; None without one."""

    def read(container):
        host = client.api.inspect_container(container)["HostConfig"]
        return host["CpuQuota"] / host["CpuPeriod"] if host["CpuQuota"] > 0 else None

    watch = Watch(client, ours, read)
    watch.start()
    yield watch
    watch.end()


def test_a_slow_device_has_a_share_of_its_quota(play, quotas):
    faults = (
        "faults:\n  - {kind: slow, nodes: [left, right], factor: 25%, at: 4s, lasts: 5s}\n"
        "  - {kind: crash, nodes: [left], at: 5s, lasts: 1s}\n"
    )
    run = play(world(right="{name: right, profile: {cpu: 40%}}", rest=faults))
    seen, (start,) = quotas.end(), run.said("start")
    expected = {"left": [None, 0.25, None], "right": [0.4, 0.1, 0.4]}
    for node, values in expected.items():
        changes = [(at - start["zero"], value) for at, name, value in seen if name == node]
        assert [value for _, value in changes] == values
        slow, own = (at for at, _ in changes[1:])
        (throttle,) = run.said("throttle", node=node)
        (unthrottle,) = run.said("unthrottle", node=node)
        assert throttle["setting"] == {"factor": 0.25} and throttle["fault"] == "slow"
        for record, planned, looked in ((throttle, 4.0, slow), (unthrottle, 9.0, own)):
            assert record["planned"] == planned <= record["at"] < planned + 0.3
            assert looked == pytest.approx(record["at"], abs=0.5)
    assert run.summary["faults_realised"] == 3 and not run.said("exit")


def test_a_device_may_draw_that_it_is_slow(play, quotas):
    drawn = "[{name: hot, faults: [{kind: slow, factor: 50%, per_iteration: 5%, lasts: 2s}]}]"
    run = play(world(right=f"{{name: right, failures: {drawn}}}"))
    quotas.end()
    begins, ends = run.said("throttle", node="right"), run.said("unthrottle", node="right")
    assert begins and len(begins) - len(ends) in (0, 1)
    for begin, end in zip(begins, ends, strict=False):
        assert begin["planned"] == begin["at"] and end["at"] - begin["at"] > 1.95
    assert not run.said("throttle", node="left")


def state(client, container):
    """The state of the worker's process, as `ps` has it: T if it is stopped."""
    top = client.api.top(container, ps_args="-eo pid,stat,args")
    columns = [title.lower() for title in top["Titles"]]
    for process in top["Processes"]:
        fields = dict(zip(columns, process, strict=True))
        if "emulator.node.role" in fields.get("command", fields.get("args", "")):
            return "stopped" if fields["stat"].startswith("T") else "runs"
    return "down"


def test_a_paused_worker_is_stopped_and_its_supervisor_is_not(play, client, ours):
    """The supervisor does the verbs of other faults meanwhile."""
    watch = Watch(client, ours, lambda container: state(client, container))
    watch.start()
    faults = (
        "faults:\n  - {kind: pause, nodes: [right], at: 4s, lasts: 5s}\n"
        "  - {kind: partition, nodes: [right], at: 5s, lasts: 1s}\n"
    )
    run = play(world(rest=faults))
    (start,) = run.said("start")
    changes = [(at - start["zero"], value) for at, node, value in watch.end() if node == "right"]
    stops = [at for at, value in changes if value == "stopped" and at > 2]
    (paused,), (resumed,) = run.said("pause"), run.said("resume")
    assert 4.0 <= paused["at"] < 4.3 and 9.0 <= resumed["at"] < 9.3
    assert stops[0] == pytest.approx(paused["at"], abs=1.0)
    goes_on = [at for at, value in changes if value == "runs" and at > stops[0]]
    assert goes_on[0] == pytest.approx(resumed["at"], abs=1.0)
    (cut,), (mended,) = run.said("sever"), run.said("mend")
    assert 5.0 <= cut["at"] < mended["at"] < resumed["at"]


def test_containers_go_with_their_conductor_also_while_a_device_is_paused(
    start, client, emulate, tmp_path
):
    faults = "faults:\n  - {kind: pause, nodes: [right], at: 1s}\n"
    process = start(world(stop="time: 100s", rest=faults))
    manifest = tmp_path / "runs" / "tiny" / "latest" / "manifest.json"
    run = json.loads(manifest.read_text())["id"]

    def containers():
        return client.api.containers(filters={"label": f"emulate.run={run}"})

    def paused():
        return any(state(client, container["Id"]) == "stopped" for container in containers())

    until(paused, 40)
    process.kill()
    until(lambda: not containers(), 60)
    emulate("clean", "--run", run)


def test_a_worker_without_memory_is_killed_and_boots_when_it_is_released(play):
    """Both have the same pressure, and one has the memory for it."""
    faults = "faults:\n  - {kind: memory, nodes: [left, right], takes: 75%, at: 4s, lasts: 10s}\n"
    large = "{name: left, profile: {memory: 1GiB}}"
    run = play(world(stop="time: 26s", left=large, rest=faults))
    (end,) = run.said("exit")
    assert (end["node"], end["code"], end["cause"]) == ("right", -9, "limit")
    assert 4.0 <= end["at"] < 13.9  # the other process has to start, on a busy host
    for node in ("left", "right"):
        (press,), (release,) = run.said("press", node=node), run.said("release", node=node)
        assert 4.0 <= press["at"] < 4.3 and 14.0 <= release["at"] < 15.0
        # the supervisor, too, finds its program out of the page cache on a busy host
        assert press["setting"] == {"share": 0.75} and press["fault"] == "memory"
    assert [r["incarnation"] for r in run.said("hello", node="right")] == [0, 1]
    assert [r["incarnation"] for r in run.said("hello", node="left")] == [0]
    times = [r["at"] for r in run.said("update", node="right")]
    assert not [at for at in times if end["at"] + 0.5 < at < 14.0] and times[-1] > 14.0
    assert run.summary["outcome"] == "success"
