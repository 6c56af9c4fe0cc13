"""What plays in virtual time plays in containers: whole frames, real sockets, nothing refused."""

import json
import math
from concurrent.futures import Future

import pytest

from tests.containers.conftest import TINY, Outcome, begun, left
from tests.cover.dealt_fleets import TRAININGS, UPDATES, scenario

pytestmark = [pytest.mark.docker, pytest.mark.timeout(280)]

TRAINING = "dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1"
TOGETHER = 3


@pytest.mark.parametrize(
    "training",
    [
        "algorithm: adacomp-residual, learning_rate: 0.1, pull: {kind: delta, values: f16}",
        *(
            pytest.param(rest, marks=pytest.mark.thorough)
            for rest in (
                "algorithm: local-sgd, learning_rate: 0.1, pull: {kind: dense, values: f16}",
                "algorithm: softsync, learning_rate: 0.003, optimizer: adam",
            )
        ),
    ],
)
def test_it_learns_and_nothing_is_refused(play, training):
    text = TINY.replace(TRAINING, f"dataset: digits, model: digits-mlp, {training}")
    run = play(text)
    assert run.summary["outcome"] == "success" and run.summary["updates"] >= 300
    assert run.summary["refused"] == 0
    assert run.summary["final_accuracy"] > run.said("evaluation")[0]["accuracy"] + 0.3


@pytest.fixture(scope="module")
def plays(client, tmp_path_factory):
    """The runs of all dealt fleets, which begin together: folders, and ended processes."""
    texts = {fleet: scenario(fleet) for fleet in TRAININGS}
    with begun(texts, tmp_path_factory, TOGETHER) as runs:
        yield runs


@pytest.mark.parametrize("fleet", TRAININGS)
def test_a_dealt_fleet_trains_and_nothing_is_refused(
    plays: dict[str, Future], client, fleet: str
) -> None:
    folder, done = plays[fleet].result()
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    summary = json.loads(done.stdout)
    assert (summary["outcome"], summary["stop"]) == ("success", "updates")
    assert summary["refused"] == 0 and summary["updates"] >= UPDATES
    assert all(math.isfinite(each["loss"]) for each in Outcome(summary).said("update"))
    assert not left(client, folder)
