"""Dilated runs in containers: as many updates in an emulated second as without a dilation, and as
in virtual time if the devices want more cores than the host has."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.dilation import SCENARIO as FORTY
from tests.benchmarks.dilation import rate

pytestmark = [pytest.mark.docker, pytest.mark.tensorflow, pytest.mark.timeout(300)]

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
faults: [{kind: crash, nodes: [home-3], at: 2s}]
"""

OVERSUBSCRIBED = FORTY.replace("count: 40", "count: 16").replace("cpu: 20%", "cpu: 50%")
"""The benchmark's devices, with as many cores together and less to start."""

AGREE, ALIKE = 0.07, 0.1
"""Relative difference of the updates between two dilations, and to virtual time."""


@pytest.fixture
def played(emulate, tmp_path):
    """Play the scenario at a dilation: the summary and the manifest."""

    def play(dilation: float) -> tuple[dict[str, Any], dict[str, Any]]:
        file = tmp_path / "scenario.yaml"
        file.write_text(f"{SIXTEEN}time: {{dilation: {dilation}}}\n")
        done = emulate("run", str(file), "--json", "--no-report")
        summary = json.loads(done.stdout)
        with open(f"{tmp_path / summary['run']}/manifest.json") as manifest:
            return summary, json.load(manifest)

    return play


def test_sixteen_devices_update_as_often(played):
    """The kernel of the host, its engine and its load are the same; the run takes longer."""
    rates = []
    for dilation in (1, 4):
        summary, manifest = played(dilation)
        fidelity = summary["fidelity"]
        assert manifest["dilation"] == fidelity["dilation"] == dilation
        assert 5.0 <= summary["duration_s"] < 5.1
        assert summary["faults_realised"] == 1 and fidelity["latest_fault_s"] < 0.5
        rates.append(summary["updates"] / summary["duration_s"])
        if not fidelity["kept_up"]:
            pytest.skip(f"needs a host with cores to spare: {fidelity['reasons']}")
    assert rates[1] == pytest.approx(rates[0], rel=AGREE)


def test_virtual_time_agrees_at_the_dilation_that_the_host_needs(emulate, tmp_path):
    """At a dilation of 1 the devices want more than all cores, and make fewer updates."""
    (tmp_path / "scenario.yaml").write_text(OVERSUBSCRIBED.replace("time: 9s", "time: 6s"))
    dilated = "--set", "time.dilation=auto"
    result = json.loads(
        emulate("compare", "--runtimes", "scenario.yaml", "--json", *dilated).stdout
    )
    docker, virtual = (tmp_path / result[on] for on in ("docker", "virtual"))
    fidelity = json.loads(Path(docker, "summary.json").read_text())["fidelity"]
    checked = json.loads(emulate("check", "scenario.yaml", "--json", check=False).stdout)
    assert fidelity["dilation"] == checked["dilation"]["needed"] > 2
    if not fidelity["kept_up"]:
        pytest.skip(f"needs a host that does nothing else: {fidelity['reasons']}")
    assert rate(docker) == pytest.approx(rate(virtual), rel=ALIKE)
