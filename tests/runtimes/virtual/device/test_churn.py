"""Devices that come and go in virtual time, by laws and by traces: the log has what was planned."""

from pathlib import Path

import pytest

from tests.fakes.plain_records import read
from tests.fakes.virtual_world import played

WORLD = """
name: churning
training: {{dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}}
evaluate: {{every: 1000}}
stop: {{time: 20s}}
virtual: {{learner: none, step: 100ms, boot: 200ms, tcp: false}}
devices: [{{name: a}}, {{name: b}}]
faults: [{{nodes: [a], {fault}}}]
"""


@pytest.mark.parametrize(
    ("fault", "kind", "away"),
    [
        ("kind: churn, on: 5s, off: 2s", "churn", [(5, 7), (12, 14), (19, None)]),
        (
            "kind: availability, trace: ['on 0, off 40, end 60'], start: 20s, speed: 10",
            *("availability", [(2, 4), (8, 10), (14, 16)]),
        ),
    ],
)
@pytest.mark.parametrize(("by", "verbs"), [("leave", "leave join"), ("crash", "kill boot")])
def test_a_device_is_away_as_planned(
    tmp_path: Path, fault: str, kind: str, away: list[tuple[float, float]], by: str, verbs: str
) -> None:
    folder, summary, _ = played(tmp_path, text=WORLD.format(fault=f"{fault}, by: {by}"))
    records = list(read(folder / "run.jsonl"))
    gone, back = verbs.split()
    struck = [(r["at"], r["what"], r["fault"]) for r in records if "begins" in r]
    times = sorted(
        (at, what) for span in away for at, what in zip(span, (gone, back), strict=True) if at
    )
    assert struck == [(at, what, kind) for at, what in times]
    updates = [r["at"] for r in records if r["what"] == "update" and r["node"] == "a"]
    for since, until in away:
        assert not [at for at in updates if since + 0.01 < at < (until or 20) + 0.3]
        assert until is None or [at for at in updates if until + 0.3 <= at < until + 0.5]
    goodbyes = [r["at"] for r in records if r["what"] == "goodbye"]
    assert len(goodbyes) == (len(away) if by == "leave" else 0)
    assert summary["faults_planned"] == summary["faults_realised"] == len(away)
