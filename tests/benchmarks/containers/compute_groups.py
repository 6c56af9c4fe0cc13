"""Group updates in containers, by number of groups: how often they come, and were to come."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import emulator
from analysis import read
from analysis.facts.group_updates import measured
from analysis.papers.claims import Judged
from analysis.papers.declaration import Claim
from analysis.papers.host_measurements import judge_values
from analysis.papers.markdown import table
from emulator.runs.folder import RUNS
from emulator.scenario import loads

GROUPS = (1, 2, 4, 8)
SECONDS = 40.0
"""Duration of each run."""

SCENARIO = """
# How often do the compute groups of eight devices update the model?
name: bench-groups
training:
  {dataset: mnist, model: mnist-cnn, batch_size: 128, codec: dense,
   synchronization: {kind: groups, groups: 1}}
evaluate: {every: 100000}
stop: {time: 40s}
devices:
  - {name: home, count: 8, profile: {cpu: 20%}, link: {up: {rate: 100mbit}, down: {rate: 100mbit}}}
"""

PREDICTED = Claim(
    "the formula HE(g) is within 10 % of the measured time of a group update, for each g",
    rule="all-within",
    where="hardware efficiency",
    bound=0.1,
)
PROTOCOL = (
    "eight devices at 20 % of a core each train `mnist-cnn` with mini-batches of 128 for a group",
    "links of 100 mbit",
    f"each number of groups is played for {SECONDS:g} s",
    "devices are calibrated on the same host",
)

Figures = list[dict[str, Any]]


def measure(say: Callable[[str], None], seconds: float = SECONDS) -> Figures:
    """Play every number of groups; return a row for each with seconds per group update."""
    rows: Figures = []
    for groups in GROUPS:
        say(f"8 devices in {groups} groups")
        sets = [f"training.synchronization.groups={groups}", f"stop.time={seconds:.0f}s"]
        played = emulator.run(loads(SCENARIO, sets), runs=RUNS)
        rows.append(found(played.folder))
    return rows


def found(folder: Path) -> dict[str, Any]:
    """Return the prediction and the measurement of the run in `folder`."""
    manifest = json.loads((folder / "manifest.json").read_text())
    return {**manifest["hardware_efficiency"], "measured": measured(read(folder))}


def claims(rows: Figures) -> list[Judged]:
    """Return the claim on the formula, judged by the rows of `measure`."""
    apart = {f"g = {row['groups']}": row["formula"] / row["measured"] - 1 for row in rows}
    return [judge_values(PREDICTED, apart, _signed)]


def page_table(rows: Figures) -> str:
    """Return the table of docs/predict.md: times of a group update, predicted and measured."""
    cells = [
        [
            str(row["groups"]),
            *(f"{1e3 * row[key]:.1f}" for key in ("formula", "queue", "measured")),
            *(_signed(row[key] / row["measured"] - 1) for key in ("formula", "queue")),
        ]
        for row in rows
    ]
    columns = ["groups", "formula (ms)", "queue (ms)", "measured (ms)"]
    return table([*columns, "formula's error", "queue's error"], cells)


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", "−")


def lines(rows: Figures) -> list[str]:
    """Return a table of `rows`: milliseconds per group update, and the measured above both."""
    head = (
        f"{'groups':>6}  {'formula':>9}  {'queue':>9}  {'measured':>9}  above formula  above queue"
    )
    return [
        "ms per group update, 8 devices at 20 % of a core behind 100 mbit",
        head,
        *(
            f"{row['groups']:>6}  {1e3 * row['formula']:>9.1f}  {1e3 * row['queue']:>9.1f}  "
            f"{1e3 * row['measured']:>9.1f}  {row['measured'] / row['formula'] - 1:>+13.1%}  "
            f"{row['measured'] / row['queue'] - 1:>+11.1%}"
            for row in rows
        ),
    ]
