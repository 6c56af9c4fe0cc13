"""Links of containers that get worse for a time, seen from outside."""

import json
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

import docker
import pytest

from tests.containers.conftest import TINY

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

LINK = "{up: {rate: 8mbit, delay: 5ms}, down: {rate: 8mbit, delay: 5ms}}"


def world(faults: str, updates: str = "time: 16s") -> str:
    text = TINY.replace("updates: 300, time: 60s", updates)
    text = text.replace("algorithm: adacomp", "codec: dense")
    text = text.replace("{name: right}", f"{{name: right, link: {LINK}}}")
    return f"{text}faults:\n{faults}"


def rates(container):
    """The rates of the device's qdiscs, up and down, as tc has them."""
    said = container.exec_run("tc -s qdisc show").output
    lines = [line for line in said.decode().splitlines() if " tbf " in line]
    return [line.split(" rate ")[1].split()[0] for line in lines]


def counts(run, node, since, until):
    return len([r for r in run.said("update", node=node) if since < r["at"] < until])


def test_a_slower_link_slows_the_device_and_comes_back(play):
    faults = "  - {kind: degrade, nodes: [right], at: 4s, lasts: 5s, rate: 5%, delay: 200ms}\n"
    run = play(world(faults))
    (began,), (ended,) = run.said("reshape"), run.said("restore")
    assert (began["planned"], ended["planned"]) == (4.0, 9.0)
    assert began["setting"] == {"rate": 0.05, "delay": 0.2} and began["fault"] == "degrade"
    late = [record["at"] - record["planned"] for record in (began, ended)]
    print("late", late)
    assert median(late) < 0.5 and run.summary["faults_realised"] == 1
    before, during = counts(run, "right", 1, 4), counts(run, "right", 4.5, 9)
    after = counts(run, "right", 10, 16)
    print("updates", before / 3, during / 4.5, after / 6)
    # an exchange of 2 × 0.4 s of delay at least
    assert 1 <= during <= 4.5 / 0.4 + 1 and before / 3 > 4 * during / 4.5
    assert after / 6 > 4 * during / 4.5
    assert {r["incarnation"] for r in run.said("hello", node="right")} == {0}


def test_tc_shows_the_change_and_a_boot_and_a_mend_keep_it(start, client, tmp_path):
    faults = (
        "  - {kind: degrade, nodes: [right], at: 3s, lasts: 9s, rate: 25%}\n"
        "  - {kind: crash, nodes: [right], at: 5s, lasts: 1s}\n"
        "  - {kind: partition, nodes: [right], at: 8s, lasts: 1s}\n"
    )
    process = start(world(faults, "time: 18s"))
    found = client.containers.list(filters={"label": "emulate.device=right"})
    (right,) = [each for each in found if str(tmp_path) in each.labels["emulate.folder"]]
    seen = []
    while process.poll() is None:
        with suppress(docker.errors.APIError):  # the container is gone with the run
            before, shown = time.monotonic(), rates(right)
            seen.append((before, time.monotonic(), shown))
        time.sleep(0.3)
    log = Path(tmp_path, "runs", "tiny", "latest", "run.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in log]
    (zero,) = [record["zero"] for record in records if record["what"] == "start"]
    began, ended = (zero + r["at"] for r in records if r["what"] in ("reshape", "restore"))

    def between(since, until):
        return {rate for a, b, found in seen for rate in found if since < a and b < until}

    assert between(zero, began - 0.1) == {"8Mbit"}
    assert between(began, ended - 0.1) == {"2Mbit"}  # through the crash and the partition
    assert between(ended, zero + 17.5) == {"8Mbit"}
