"""What plays in virtual time plays in containers: whole frames, real sockets, nothing refused."""

import pytest

from tests.containers.conftest import TINY

pytestmark = [pytest.mark.docker, pytest.mark.beside, pytest.mark.timeout(180)]

TRAINING = "dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1"


@pytest.mark.parametrize(
    "training",
    [
        "algorithm: adacomp-residual, learning_rate: 0.1, pull: {kind: delta, values: f16}",
        "algorithm: local-sgd, learning_rate: 0.1, pull: {kind: dense, values: f16}",
        "algorithm: softsync, learning_rate: 0.003, optimizer: adam",
    ],
)
def test_it_learns_and_nothing_is_refused(play, training):
    text = TINY.replace(TRAINING, f"dataset: digits, model: digits-mlp, {training}")
    run = play(text)
    assert run.summary["outcome"] == "success" and run.summary["updates"] >= 300
    assert run.summary["refused"] == 0
    assert run.summary["final_accuracy"] > run.said("evaluation")[0]["accuracy"] + 0.3
