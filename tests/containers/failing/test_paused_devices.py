"""A conductor that dies while a device is paused."""

import json

import pytest

from tests.containers.conftest import TINY, until

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(120)]


def state(client, container):
    """The state of the worker's process, as `ps` has it: T if it is stopped."""
    top = client.api.top(container, ps_args="-eo pid,stat,args")
    columns = [title.lower() for title in top["Titles"]]
    for process in top["Processes"]:
        fields = dict(zip(columns, process, strict=True))
        if "emulator.node.part.role" in fields.get("command", fields.get("args", "")):
            return "stopped" if fields["stat"].startswith("T") else "runs"
    return "down"


def test_containers_go_with_their_conductor_also_while_a_device_is_paused(
    start, client, emulate, tmp_path
):
    text = TINY.replace("updates: 300, time: 60s", "time: 100s")
    process = start(text + "faults:\n  - {kind: pause, nodes: [right], at: 1s}\n")
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
