"""Whole runs of random nets on random links: the schedulers learn them, and foretell iterations."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from tests.fakes.plain_records import read
from tests.fakes.virtual_world import Onlooker, digits

LINKS = 8
"""Devices of a run, each with a link of its own."""
SETTLED = 40
"""Iteration from which on no number in a message's head grows by a byte: before, versions pass 256.
Tickets pass 128 later than a run ends."""
ITERATIONS = 61


def drawn(dice: Random, schedule: str) -> dict[str, Any]:
    """Return a scenario with a layer table and links at random."""
    layers = dice.randint(2, 12)
    table = [
        {
            "name": f"layer-{number}",
            "kind": "dense",
            "parameters": round(10 ** dice.uniform(2, 5.5)),
            "activations": 10,
            "multiply_adds": 1,
        }
        for number in range(layers)
    ]
    shares = [round(dice.uniform(0.01, 5), 3) for _ in range(2 * layers)]

    def side() -> dict[str, str]:
        return {
            "rate": f"{dice.uniform(1, 200):.3f}mbit",
            "setup": f"{dice.choice([0, dice.uniform(0, 20)]):.3f}ms",
            "delay": f"{dice.uniform(0, 50):.3f}ms",
        }

    return {
        "name": "planned",
        "training": {
            "dataset": "digits",
            "model": {"layers": "./table.yaml"},
            "batch_size": 8,
            "codec": "dense",
            "synchronization": "barrier",
            "schedule": {"kind": schedule, "replan": 10},
        },
        "stop": {"updates": LINKS * ITERATIONS},
        "virtual": {
            "learner": "none",
            "tcp": False,
            "step": f"{10 ** dice.uniform(0, 3):.3f}ms",
            "layers": {"forward": shares[:layers], "backward": shares[layers:]},
        },
        "devices": [
            {"name": f"device-{number}", "link": {"up": side(), "down": side()}}
            for number in range(LINKS)
        ],
        "table": table,
    }


SLOW = [pytest.param(number, marks=pytest.mark.slow) for number in range(2, 25)]
"""With the quick ones 25 nets on 8 links each."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, *SLOW])
def test_iterations_take_as_long_as_planned(tmp_path: Path, number: int) -> None:
    schedule = "ibatch" if number % 5 == 1 else "dynacomm"
    scenario = drawn(Random(f"tests/planned-runs/{number}"), schedule)
    (tmp_path / "table.yaml").write_text(yaml.safe_dump({"layers": scenario.pop("table")}))
    with digits():
        folder, _ = play(loads(yaml.safe_dump(scenario), (), tmp_path), tmp_path, Onlooker())
    came = [record for record in read(folder / "run.jsonl") if record["what"] == "iteration"]
    settled = [record for record in came if record["iteration"] >= SETTLED + 20]
    assert {record["node"] for record in settled} == {f"device-{each}" for each in range(LINKS)}
    for record in settled:
        assert record["t_forward"] == pytest.approx(record["predicted_forward"], rel=1e-9)
        assert record["t_backward"] == pytest.approx(record["predicted_backward"], rel=1e-9)
        # the rest is a median over iterations in which versions had fewer bytes
        assert record["t_iteration"] == pytest.approx(record["predicted_iteration"], rel=1e-4)
