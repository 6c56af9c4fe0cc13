"""Links of real containers: the run says itself whether they were kept."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.timeout(200)]

BUSY = """
# Do a rated and delayed link keep their promise both ways?
name: busy-link
training: {dataset: mnist, model: mnist-mlp, algorithm: asgd, learning_rate: 0.1}
evaluate: {every: 1000000}
stop: {time: 25s}
devices:
  - name: far
    link: {up: {rate: 8mbit, delay: 25ms}, down: {rate: 8mbit, delay: 40ms}}
  - name: near
    link: {up: {rate: 1mbit, delay: 5ms}, down: {rate: 20mbit, delay: 5ms}}
"""
TRIES = 2


def test_a_rated_and_delayed_link_is_kept_both_ways(emulate, tmp_path: Path) -> None:
    """A host with other work may spoil a run, which then says so: not twice."""
    (tmp_path / "busy.yaml").write_text(BUSY)
    for _ in range(TRIES):
        emulate("run", "busy.yaml", "--no-report")
        folder = tmp_path / "runs" / "busy-link" / "latest"
        summary = json.loads((folder / "summary.json").read_text())
        manifest = json.loads((folder / "manifest.json").read_text())
        links = {(row["node"], row["way"]): row for row in summary["fidelity"]["links"]}
        print(json.dumps(links, indent=1), summary["fidelity"]["reasons"])
        assert links.keys() == {(node, way) for node in ("far", "near") for way in ("up", "down")}
        if all(row["verdict"] == "kept" for row in links.values()):
            break
        assert not summary["fidelity"]["kept_up"]
        assert all(row["reason"] for row in links.values() if row["verdict"] == "missed")
    else:
        pytest.fail(f"missed {TRIES} times in a row: {links}")
    for way in ("up", "down"):
        rate = links["far", way]["rate"]
        assert rate["verdict"] == "kept" and rate["busy_s"] > 1
        delay = links["far", way]["delay"]
        wanted = 0.025 if way == "up" else 0.04
        if manifest["shaping"]["delay"] == "receiver":
            assert (delay["requested"], delay["verdict"]) == (wanted, "not judged")
        else:
            assert delay["verdict"] == "kept" and delay["echoes"] >= 10
            assert abs(delay["achieved"] - wanted) < 0.003
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    load = [line for line in lines if line["what"] == "host"]
    assert sum(len(line["busy"]) for line in load) == pytest.approx(25, abs=3)
    assert all(line["server"] for line in load)
    assert len([line for line in lines if line["what"] == "link"]) < 30
