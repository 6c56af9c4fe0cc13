"""Dilated runs in containers: as many updates in an emulated second as without a dilation.

A device's uplink is in an outage for a second: its 100 bit/s, divided by the dilation, would be
less than the kernel and the box play.
"""

import json
from typing import Any, NamedTuple

import pytest

from emulator.machine.host import cores
from tests.containers.host_pace import Pace, judged, pace, stolen, wait

pytestmark = [
    pytest.mark.docker,
    pytest.mark.tensorflow,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]

SIXTEEN = """
# Do sixteen devices update the model as often in a slower world?
name: sixteen
training: {dataset: digits, model: digits-mlp, algorithm: adacomp, batch_size: 32}
stop: {time: 5s}
devices:
  - name: home
    count: 16
    profile: {cpu: 30%}
    link: {up: {rate: 2mbit, delay: 20ms}, down: {rate: 8mbit, delay: 20ms}}
  - name: away
    profile: {cpu: 30%}
    link:
      up: {delay: 20ms, trace: {samples: "0 2000000, 2 0, 3 2000000, end 60"}}
      down: {rate: 8mbit, delay: 20ms}
faults: [{kind: crash, nodes: [home-3], at: 2s}]
"""
OUTAGE = 2.0, 3.0
"""Begin and end of the outage, in emulated seconds."""

AGREE = 0.07

CROWD = f"""
# Do devices that want more than the cores of this host train as in virtual time?
name: crowd
training: {{dataset: mnist, model: mnist-cnn, algorithm: adacomp, batch_size: 256}}
evaluate: {{every: 10000, when: after}}
stop: {{time: 6s}}
virtual: {{learner: none}}
devices:
  - name: home
    count: {3 * cores()}
    profile: {{cpu: 90%}}
    link: {{up: {{rate: 50mbit, delay: 5ms}}, down: {{rate: 400mbit, delay: 5ms}}}}
"""
AGREE_WITH_VIRTUAL = 0.10


@pytest.fixture
def played(emulate, tmp_path):
    """Play the scenario at a dilation: the summary, the manifest, and the times of the updates of
    `away`."""

    def play(dilation: float) -> tuple[dict[str, Any], dict[str, Any], list[float]]:
        file = tmp_path / "scenario.yaml"
        file.write_text(f"{SIXTEEN}time: {{dilation: {dilation}}}\n")
        done = emulate("run", str(file), "--json", "--no-report")
        summary = json.loads(done.stdout)
        folder = tmp_path / summary["run"]
        records = map(json.loads, (folder / "run.jsonl").read_text().splitlines())
        updates = [each for each in records if each["what"] == "update"]
        away = [each["at"] for each in updates if each["node"] == "away"]
        return summary, json.loads((folder / "manifest.json").read_text()), away

    return play


def test_sixteen_devices_update_as_often_and_an_outage_ends(played):
    """The kernel of the host, its engine and its load are the same; the run takes longer."""
    judged(lambda: at_both_dilations(played), updates_as_often)


class Dilated(NamedTuple):
    """A run at a dilation."""

    rate: float
    """Updates in an emulated second."""
    seconds: float
    """Its emulated length."""
    latest: float
    """Seconds by which its latest fault came late."""
    cut_off: int
    """Updates of `away` in the outage, without its first 0.2 s."""
    reasons: list[str]


def updates_as_often(found, _longer):
    runs, waits = found
    rates = [run.rate for run in runs]
    punctual = all(run.seconds < 5.1 and run.latest < 0.5 for run in runs)
    cut_off = all(run.cut_off <= 1 for run in runs)  # one was at the server
    alike = Pace(1.0, max(waits)).explains(max(rates) / min(rates) - 1, AGREE)
    return punctual and cut_off and alike


def at_both_dilations(played):
    """Return the runs at both dilations, and how long a second of a core took beside them."""
    runs, waits, (begin, end) = [], [wait()], OUTAGE
    for dilation in (1, 5):
        with stolen() as taken:
            summary, manifest, away = played(dilation)
            waits.append(taken())
        waits.append(wait())
        assert summary["outcome"] == "success"
        assert [at for at in away if at < begin] and [at for at in away if at > end + 0.2]
        fidelity = summary["fidelity"]
        assert manifest["dilation"] == fidelity["dilation"] == dilation
        assert summary["faults_realised"] == 1
        seconds = summary["duration_s"]
        assert seconds >= 5.0
        cut_off = len([at for at in away if begin + 0.2 < at < end])
        rate, latest = summary["updates"] / seconds, fidelity["latest_fault_s"]
        runs.append(Dilated(rate, seconds, latest, cut_off, fidelity["reasons"]))
    return runs, waits


def test_a_crowd_agrees_with_virtual_time_at_the_dilation_that_check_names(emulate, tmp_path):
    """In real time the host cannot keep up, and the run says so."""
    file = tmp_path / "crowd.yaml"
    file.write_text(CROWD)
    told = emulate("check", str(file), "--json", "--set", "time.dilation=1")
    assert "did not keep up" in told.stdout or "needs a dilation" in told.stdout
    real = ("run", str(file), "--json", "--no-report", "--set", "stop.time=3s")
    fidelity = json.loads(emulate(*real).stdout)["fidelity"]
    assert any("short of processor time" in reason for reason in fidelity["reasons"])
    judged(
        lambda: compared(emulate, file, tmp_path),
        lambda found, _: found.beside.explains(found.slower, AGREE_WITH_VIRTUAL),
    )


class Compared(NamedTuple):
    """The share by which a run in containers was slower than in virtual time."""

    slower: float
    beside: Pace
    reasons: list[str]


def compared(emulate, file, folder):
    before = wait()
    with stolen() as taken:
        done = emulate("compare", "--runtimes", str(file), "--json", "--set", "time.dilation=auto")
        meanwhile = taken()
    result = json.loads(done.stdout)
    beside = pace(result, before, wait(), meanwhile)
    differences = {row["quantity"]: row["difference"] for row in result["agreement"]}
    fidelity = json.loads((folder / result["docker"] / "summary.json").read_text())["fidelity"]
    assert fidelity["dilation"] > 1
    return Compared(differences["updates_per_second"], beside, fidelity["reasons"])
