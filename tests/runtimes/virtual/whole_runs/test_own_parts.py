"""Plugins of users play as the package's own: equal rules give equal runs, byte by byte."""

import shutil
from pathlib import Path

import pytest

from emulator import run
from emulator.errors import EmulatorError
from emulator.runs.conductor import ProgressView
from emulator.runs.planning import plan
from emulator.runs.plugin_sources import plugin_sources
from emulator.runs.resumption import dead_run, resuming
from emulator.runtimes.virtual.play_virtual import resume
from emulator.scenario import load
from emulator.scenario.reading.plugin_files import FAMILIES

CODE = """
from dataclasses import dataclass
from emulator.aggregation import Median
from emulator.codecs import TopK
from emulator.world.faults.crash import Crash
from emulator.modulation import Staleness
from emulator.optimizers import Momentum
from emulator.schedules import LayerByLayer
from emulator.synchronization import Softsync
"""
BASES = {
    "aggregation": ("Median", "median"),
    "codec": ("TopK", "topk"),
    "fault": ("Crash", "crash"),
    "modulation": ("Staleness", "staleness"),
    "optimizer": ("Momentum", "momentum"),
    "schedule": ("LayerByLayer", "layer-by-layer"),
    "synchronization": ("Softsync", "softsync"),
}
SCENARIO = """
name: lab
seed: 3
training:
  dataset: digits
  model: digits-mlp
  codec: {kind: «codec», keep: 10%}
  modulation: «modulation»
  synchronization: {kind: «synchronization», splits: 1}
  optimizer: {kind: «optimizer», momentum: 0.5}
  aggregation: «aggregation»
  schedule: «schedule»
virtual: {learner: numpy, step: 10ms, boot: 100ms, serve: 1ms,
  layers: {forward: [1, 1, 1], backward: [1, 1, 1]}}
stop: {updates: 40}
evaluate: {every: 20}
devices:
  - {name: a, count: 3, link: {up: {rate: 10mbit}}}
faults:
  - {kind: «fault», nodes: [a-1], at: 0.1s, lasts: 0.1s}
"""


def written(folder: Path, own: bool) -> Path:
    folder.mkdir()
    made = (
        f"@dataclass(frozen=True)\nclass My{base}({base}): pass\n" for base, _ in BASES.values()
    )
    (folder / "own.py").write_text(CODE + "".join(made))
    text = SCENARIO
    for part, (base, kind) in BASES.items():
        text = text.replace(f"«{part}»", f"./own.py:My{base}" if own else kind)
    (folder / "lab.yaml").write_text(text)
    return folder / "lab.yaml"


@pytest.mark.slow
def test_equal_rules_give_equal_runs(tmp_path: Path) -> None:
    logs = []
    for own in (False, True):
        folder = tmp_path / f"own-{own}"
        run(load(written(folder, own)), on="virtual", runs=folder)
        logs.append((folder / "lab" / "latest" / "run.jsonl").read_text())
    assert logs[1].count('"own.py:MyCrash"') == 2
    for base, kind in BASES.values():
        logs[1] = logs[1].replace(f'"own.py:My{base}"', f'"{kind}"')
    assert logs[1] == logs[0]


@pytest.mark.slow
def test_a_dead_run_goes_on_with_its_own_sources_or_not_at_all(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    folder = run(load(written(lab, own=True)), on="virtual", runs=tmp_path / "runs").folder
    whole = (folder / "run.jsonl").read_bytes()
    (folder / "run.jsonl").write_bytes(whole[: len(whole) // 2])
    (folder / "summary.json").unlink()
    shutil.rmtree(lab)
    with resuming(folder) as dead:
        resume(dead, ProgressView(None), cores=1)
    assert (folder / "run.jsonl").read_bytes() == whole
    (folder / "summary.json").unlink()
    with (folder / "plugins" / "own.py").open("a") as source:
        source.write("# changed")
    with pytest.raises(EmulatorError, match=r"plugins/own\.py has changed: its SHA-256 is"):
        dead_run(folder)


def test_containers_import_from_the_mount_only(tmp_path: Path) -> None:
    scenario = load(written(tmp_path / "lab", own=True))
    sources = plugin_sources(scenario, tmp_path / "run")
    moved = plan(scenario, None).moved(
        {text: f"/plugins/{place}" for text, place in sources.places.items()}
    )
    parts = (moved.modulation, moved.synchronization, moved.optimizer, moved.aggregation)
    kinds = [part["kind"] for part in (*parts, moved.worker.codec, moved.worker.schedule)]
    assert all(kind.startswith("/plugins/own.py:My") for kind in kinds)
    imported = {family.name for family in FAMILIES} - {"figures"}  # the command draws those
    assert len(imported) == len(BASES)
