"""Runs that play the traffic of a layer table: exact times, and a bounded peak of memory."""

import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
import yaml

from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from emulator.world.links.link import FRAME
from tests.fakes.virtual_world import Onlooker
from tests.layers import ROOT

RATE = 100e6
SCENARIO = """
name: tabled
training: {dataset: digits, model: {layers: googlenet}, batch_size: 32, codec: dense}
stop: {updates: 4}
virtual: {learner: none, step: 2s, tcp: false}
devices:
  - {name: one, link: {up: {rate: 100mbit}, down: {rate: 100mbit}}}
"""
PARAMETERS = 6_998_552


def test_a_table_is_carried_up_and_down_whole(tmp_path: Path) -> None:
    _, summary = play(loads(SCENARIO), tmp_path, Onlooker())
    transfer = 4 * PARAMETERS * 8 * FRAME / RATE
    assert summary["updates"] == 4
    assert summary["duration_s"] == pytest.approx(4 * (2 * transfer + 2), rel=1e-4)


def test_a_table_in_segments_has_shares_by_its_counts(tmp_path: Path) -> None:
    scenario = loads(SCENARIO, ["training.schedule=dynacomm", "stop.updates=2"])
    folder, _ = play(scenario, tmp_path, Onlooker())
    written: dict[str, Any] = yaml.safe_load((folder / "scenario.yaml").read_text())
    shares = written["virtual"]["layers"]
    assert len(shares["forward"]) == 58
    assert sum(shares["backward"]) == 2 * sum(shares["forward"])


PEAK = """
import sys
from pathlib import Path
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from tests.fakes.virtual_world import Onlooker
play(loads(sys.argv[1]), Path(sys.argv[2]), Onlooker())
# not ru_maxrss, which begins with that of the process that started this one
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1])
"""


@pytest.mark.slow
def test_vgg_19_stays_below_2_gb(tmp_path: Path) -> None:
    scenario = SCENARIO.replace("googlenet", "vgg-19").replace("name: one", "name: one, count: 4")
    command = [sys.executable, "-c", PEAK, scenario, str(tmp_path)]
    peak = int(run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    assert peak * 1024 < 2e9
