"""Devices killed between two pieces of a push, and cut off between two pieces of a pull."""

import pytest

from emulator.learning import models
from emulator.world.links.link import FRAME

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]

SIZES = [place.stop - place.start for place in models.find("digits-mlp").layout.layers]
RATE, SETUP = 0.5e6, 0.05
FIRST, END = 6.0, 27.0
"""Times of the first faults, and of the end of the run, in seconds."""
EACH, KILLS, CUTS = 4, 2, 4
"""Devices that are killed, as many that are cut off, and the faults of each."""
BETWEEN_KILLS, BETWEEN_CUTS = 9.0, 4.0
"""Seconds between two faults of a device: a boot takes some, an iteration 0.75 s."""
SLACK = 0.06
"""Seconds around the begin and the end of a transfer in which a fault is counted as beside it."""

SCENARIO = f"""
name: halves
training:
  {{dataset: digits, model: digits-mlp, algorithm: asgd, learning_rate: 0.05, batch_size: 20,
    schedule: layer-by-layer}}
stop: {{time: {END}s}}
devices:
  - name: killed
    count: {EACH}
    link: {{up: {{rate: {RATE}bit, setup: {SETUP}s}}, down: {{}}}}
  - name: cut
    count: {EACH}
    link: {{up: {{}}, down: {{rate: {RATE}bit, setup: {SETUP}s}}}}
faults:
"""


def _scenario() -> str:
    """Aim faults at different moments of the devices' iterations."""
    lines = []
    for number in range(KILLS):
        for device in range(EACH):
            at = FIRST + BETWEEN_KILLS * number + 0.07 * (EACH * number + device)
            lines.append(f"crash, nodes: [killed-{device}], at: {at:.2f}s, lasts: 0.3s")
    for number in range(CUTS):
        for device in range(EACH):
            at = FIRST + BETWEEN_CUTS * number + 0.05 * (EACH * number + device)
            lines.append(f"partition, nodes: [cut-{device}], at: {at:.2f}s, lasts: 0.5s")
    return SCENARIO + "".join(f"  - {{kind: {line}}}\n" for line in lines)


def _arrivals(sizes: list[int]) -> list[float]:
    """Seconds from the begin of a transfer to the arrival of each piece."""
    ends, end = [], 0.0
    for size in sizes:
        end += SETUP + 4 * size * 8 * FRAME / RATE
        ends.append(end)
    return ends


def _between(run, node: str, at: float, sizes: list[int], until: str) -> bool:
    """Whether some pieces of the transfer that began with the last pull had arrived at time `at`.

    The transfer ends before the device's next record of kind `until`.
    """
    pulls = [record["at"] for record in run.said("pull", node=node) if record["at"] <= at]
    ends = [record["at"] for record in run.said(until, node=node) if pulls[-1] < record["at"] <= at]
    first, *_, last = _arrivals(sizes)
    return not ends and first + SLACK < at - pulls[-1] < last - SLACK


def test_no_half_update_is_applied_and_no_mixed_model_computed_on(play):
    run = play(_scenario())
    assert run.summary["outcome"] == "success"
    assert run.said("refused") == []
    updates = run.said("update")
    assert {update["entries"] for update in updates} == {sum(SIZES)}
    assert {update["values"] for update in updates} == {4 * sum(SIZES)}
    # a model of two versions would make a loss like that of no model: all go down together
    assert all(update["loss"] < 3.0 for update in updates)
    kills, cuts = run.said("kill"), run.said("sever")
    assert (len(kills), len(cuts)) == (EACH * KILLS, EACH * CUTS)
    # the last layers are pushed first
    killed = [_between(run, each["node"], each["at"], SIZES[::-1], "update") for each in kills]
    cut = [_between(run, each["node"], each["at"], SIZES, "update") for each in cuts]
    print(
        f"between two pieces: {sum(killed)} of {len(kills)} kills, {sum(cut)} of {len(cuts)} cuts"
    )
    assert sum(killed) >= 2 and sum(cut) >= 2  # 5 or more on a host that has time
    for strike in (*kills, *cuts):
        later = [
            each for each in run.said("update", node=strike["node"]) if each["at"] > strike["at"]
        ]
        assert later, f"{strike['node']} did not go on after {strike['at']:.1f} s"
