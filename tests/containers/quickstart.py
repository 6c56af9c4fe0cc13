"""What a run of the quickstart has to be: what the README says of it."""

import json
from datetime import UTC, datetime

import numpy as np

from tests.containers.conftest import Outcome


def check(folder):
    """Check all but the times of the run of the quickstart in `folder`; a report was made."""
    summary = json.loads((folder / "summary.json").read_text())
    run = Outcome({"run": folder, **summary})
    assert summary["outcome"] == "success" and summary["devices"] == 8
    assert summary["final_accuracy"] >= 0.95
    assert summary["compression_ratio"] >= 70
    faults_are_as_planned(run)
    bytes_reconcile(summary)
    everything_is_in_the_folder(run)
    every_device_took_part(run)


def seconds(folder):
    """Return how long the run in `folder` took from its first second to its summary."""
    begun = datetime.strptime(folder.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return (folder / "summary.json").stat().st_mtime - begun.timestamp()


def faults_are_as_planned(run):
    assert run.summary["faults_planned"] == run.summary["faults_realised"] == 2
    timeline = [
        json.loads(line) for line in (run.folder / "timeline.jsonl").read_text().splitlines()
    ]
    what = {"kill": "kill", "start": "boot", "sever": "sever", "mend": "mend"}
    for action in timeline:
        (record,) = run.said(what[action["verb"]], node=action["node"])
        assert record["planned"] == action["at"]
        assert record["at"] >= action["at"]
    for begin, end in (("kill", "boot"), ("sever", "mend")):
        (first,), (last,) = run.said(begin), run.said(end)
        silent = [
            r
            for r in run.said("update", node=first["node"])
            if first["at"] + 0.5 < r["at"] < last["at"]
        ]
        assert silent == []


def bytes_reconcile(summary):
    counted = summary["push_bytes"]["total"] + summary["pull_bytes"]
    counted += summary["evaluation_pull_bytes"]
    seen = summary["server_rx_bytes"] + summary["server_tx_bytes"]
    assert abs(seen / counted - 1) < 0.05


def everything_is_in_the_folder(run):
    names = {path.name for path in run.folder.iterdir()}
    assert names == {
        "scenario.yaml",
        "manifest.json",
        "timeline.jsonl",
        "run.jsonl",
        "devices",
        "model.npz",
        "figures",
        "report.html",
        "summary.json",
    }
    logs = {path.stem for path in (run.folder / "devices").iterdir()}
    logs -= {"packet_box", "fork_server"}
    assert len(logs) == 10 and {"server", "evaluator"} <= logs
    model = np.load(run.folder / "model.npz")
    assert model["theta"].shape == (421_642,) and np.isfinite(model["theta"]).all()
    assert model["version"] == run.summary["updates"]


def every_device_took_part(run):
    pushed = {record["node"] for record in run.said("update")}
    assert len(pushed) == 8
    assert {record["node"] for record in run.said("traffic")} == pushed | {"server", "evaluator"}
    assert run.said("stop")[0]["reason"] == "updates"
