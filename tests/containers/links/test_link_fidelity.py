"""Links of real containers: the run says itself whether they were kept."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from emulator.log.verdicts.host_shortage import SUBJECT, short_share
from tests.containers.host_pace import judged, other_work

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(400)]

SECONDS = 16
BUSY = f"""
# Do a rated and delayed link keep their promise both ways?
name: busy-link
training: {{dataset: mnist, model: mnist-mlp, algorithm: asgd, learning_rate: 0.1}}
evaluate: {{every: 1000000}}
stop: {{time: {SECONDS}s}}
devices:
  - name: far
    link: {{up: {{rate: 8mbit, delay: 25ms}}, down: {{rate: 8mbit, delay: 40ms}}}}
  - name: near
    link: {{up: {{rate: 1mbit, delay: 5ms}}, down: {{rate: 20mbit, delay: 5ms}}}}
"""


def test_a_rated_and_delayed_link_is_kept_both_ways(emulate, tmp_path: Path) -> None:
    """A host with other work may delay packets, and the run then names it as the reason. What the
    run itself costs the host is no such work."""
    (tmp_path / "busy.yaml").write_text(BUSY)
    judged(lambda: _busy(emulate, tmp_path), _kept_both_ways)


class Told(NamedTuple):
    """The rows of a run about its links, and whether the host had other work beside it."""

    disturbed: bool
    reasons: list[str]
    rows: list[dict[str, Any]]


def _kept_both_ways(found: Told, _longer: float) -> bool:
    # a model takes the downlink of `near` a tenth of a second
    rated = [row["rate"] for row in found.rows if (row["node"], row["way"]) != ("near", "down")]
    busy = all(rate["busy_s"] > 0.5 for rate in rated)
    verdicts = [rate["verdict"] == "kept" for rate in rated]
    verdicts += [row["verdict"] != "missed" for row in found.rows]
    return busy and (found.disturbed or all(verdicts))


def _busy(emulate, tmp_path: Path) -> Told:
    """Play the run; check that what it says of its links and its host fits together."""
    with other_work() as other:
        emulate("run", "busy.yaml", "--no-report")
        disturbed = other()
    folder = tmp_path / "runs" / "busy-link" / "latest"
    fidelity = json.loads((folder / "summary.json").read_text())["fidelity"]
    manifest = json.loads((folder / "manifest.json").read_text())
    links = {(row["node"], row["way"]): row for row in fidelity["links"]}
    assert links.keys() == {(node, way) for node in ("far", "near") for way in ("up", "down")}
    for row in links.values():
        if disturbed and row["verdict"] == "missed":
            assert SUBJECT in row["reason"] or "box" in row["reason"]
        if manifest["shaping"]["delay"] == "receiver":
            assert row["delay"]["verdict"] == "not judged"
        elif row["delay"]["verdict"] == "kept":
            asked = row["delay"]["requested"]
            assert abs(row["delay"]["achieved"] - asked) <= 1e-3 + 0.02 * asked
    assert fidelity["kept_up"] == (not fidelity["reasons"])
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    load = [line for line in lines if line["what"] == "host"]
    assert sum(len(line["busy"]) for line in load) == pytest.approx(SECONDS, abs=3)
    assert all(line["server"] and line["evaluator"] for line in load)
    short = [second for line in load for second in line["short"]]
    assert fidelity["host_short"] == round(short_share(short), 3)
    assert len([line for line in lines if line["what"] == "link"]) < 30
    return Told(disturbed, fidelity["reasons"], list(links.values()))
