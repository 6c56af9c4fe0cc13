"""Errors of a wrong section `training`: the place, the value that was found, and the remedy."""

import pytest

from emulator.schedules import DynaComm
from tests.fakes.small_scenario import mistakes, small


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "algorithm: asgd",
            "codec: {kind: topk, keep: 1%, values: f61}",
            "values: 'f61' (did you mean 'f16'?) is not f32 or f16 or bf16 or int8 or ternary",
        ),
        ("dataset: digits", "", "training.dataset: is missing: data set to learn from"),
        (
            "dataset: digits",
            "dataset: digts",
            "'digts' (did you mean 'digits'?) is not mnist or fashion-mnist or digits or shapes or "
            "sentences",
        ),
        (
            "dataset: digits",
            "dataset: mnist",
            "'digits-mlp' takes images of 8 × 8, in 10 classes; 'mnist' has images of 28 × 28, "
            "in 10 classes: use mnist-cnn or mnist-lenet or mnist-vgg or mnist-resnet or mnist-mlp "
            "or mnist-softmax",
        ),
        (
            "dataset: digits",
            "dataset: sentences",
            "'digits-mlp' takes images of 8 × 8, in 10 classes; 'sentences' has texts of 50 "
            "characters, out of 32: use char-lstm",
        ),
        (
            "dataset: digits",
            "dataset: sentences\n  split: shards",
            "training.split: 'shards' needs classes, and the examples of 'sentences' have",
        ),
        (
            "dataset: digits",
            "dataset: sentences\n  split: {kind: dirichlet, alpha: 1}",
            "training.split: 'dirichlet' needs classes",
        ),
        (
            "algorithm: asgd",
            "algorithm: asgd\n  schedule: dynacom",
            "scenario:6: training.schedule: 'dynacom' (did you mean 'dynacomm'?) is not sequential "
            "or layer-by-layer or ibatch or dynacomm",
        ),
        (
            "algorithm: asgd",
            "algorithm: asgd\n  schedule: {kind: dynacomm, replan: 0}",
            "training.schedule.replan: 0 is too small: write a whole number from 1 up",
        ),
        (
            "algorithm: asgd",
            "algorithm: asgd\n  schedule: {kind: ibatch, replan: -1}",
            "training.schedule.replan: -1 is too small: write a whole number from 1 up",
        ),
        (
            "algorithm: asgd",
            "algorithm: fedavg\n  schedule: dynacomm",
            "scenario:6: training.schedule: 'dynacomm' sends the gradient of each layer as soon as "
            "it is computed, and 'fedavg' sends a sum of gradients over an epoch: use sequential, "
            "or another synchronization",
        ),
        (
            "algorithm: asgd",
            "codec: dense\n  synchronization: {kind: fedavg, epochs: 3}\n  schedule: ibatch",
            "training.schedule: 'ibatch' sends the gradient of each layer as soon as it is "
            "computed, and 'fedavg' sends a sum of gradients over 3 epochs",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: topk, keep: 1%, scope: global}\n  schedule: dynacomm",
            "training.schedule: 'dynacomm' sends an update in pieces, and 'topk' cannot encode "
            "pieces: it ranks the whole model: write scope: variable, or use sequential",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: dgc, keep: 1%, clip: 1.0}\n  schedule: layer-by-layer",
            "'dgc' cannot encode pieces: clip bounds the whole gradient: leave clip out, or use",
        ),
        (
            "algorithm: asgd",
            "algorithm: local-sgd\n  schedule: {kind: layer-by-layer}",
            "'local-sgd' sends a sum of gradients over 10 mini-batches: use sequential",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: dgc, keep: 1%}\n  error_feedback: true",
            "training.error_feedback: 'dgc': it remembers by itself what it has not sent: leave",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: randomk, keep: 1%}\n  error_feedback: true",
            "'randomk': it would scale what is fed back: write unbiased: false",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: qsgd, levels: 200}\n  error_feedback: true",
            "training.codec.levels: levels is 200: write a number from 1 to 127",
        ),
        (
            "asgd",
            "signsgd\n  optimizer: adam",
            "training.optimizer: 'signsgd' sets this key too",
        ),
        (
            "asgd",
            "asgd\n  optimizer: {kind: adam, beta1: 1}",
            "training.optimizer.beta1: beta1 is 1: write a number from 0 to below 1",
        ),
        (
            "asgd",
            "asgd\n  optimizer: momentun",
            "(did you mean 'momentum'?)",
        ),
        (
            "algorithm: asgd",
            "codec: dense\n  synchronization: {kind: fedavg, clients: 0%}",
            "training.synchronization.clients: clients is 0%: write a share above 0%",
        ),
        (
            "algorithm: asgd",
            "codec: dense\n  synchronization: {kind: softsync, splits: 4}",
            "training.synchronization.splits: 4 steps need a gradient each, and there are 3 "
            "devices: write 3 or less",
        ),
        ("model: digits-mlp", "model: 3", "scenario:4: training.model: 3 is not text"),
        (
            "algorithm: asgd",
            "",
            "scenario:2: training: does not say how to train: give `algorithm`",
        ),
        (
            "asgd",
            "asgdd",
            "training.algorithm: 'asgdd' (did you mean 'asgd'?) is not asgd or ada-sgd",
        ),
        ("asgd", "[1]", "training.algorithm: a list is not asgd or"),
        ("asgd", "asgd\n  codec: dense", "scenario:6: training.codec: 'asgd' sets this key too"),
        ("asgd", "asgd\n  modulation: constant", "training.modulation: 'asgd' sets this key too"),
        ("asgd", "asgd\n  batch_size: 0", "training.batch_size: 0 is not at least 1"),
        ("asgd", "asgd\n  batch_size: '8'", "training.batch_size: '8' is not a whole number"),
        ("asgd", "asgd\n  batch_size:", "batch_size: is empty: it must be a whole number"),
        ("asgd", "asgd\n  learning_rate: 0", "training.learning_rate: 0 is not above 0"),
        ("asgd", "asgd\n  learning_rate: .inf", "training.learning_rate: inf is not a finite"),
        ("asgd", "asgd\n  learning_rate: .nan", "training.learning_rate: nan is not a finite"),
        (
            "asgd",
            "asgd\n  split: idd",
            "split: 'idd' (did you mean 'iid'?) is not iid or shards or dirichlet or mixture",
        ),
        (
            "asgd",
            "asgd\n  split: {kind: shard}",
            "'shard' (did you mean 'shards'?) is not iid or shards",
        ),
        (
            "asgd",
            "asgd\n  split: {kind: shards, per: 2}",
            "split.per: no such key: there are kind, per_device",
        ),
        ("asgd", "asgd\n  split: {}", "training.split: a mapping without a `kind`"),
        ("asgd", "asgd\n  split: {kind: dirichlet, alpha: 0}", "training.split.alpha: alpha is 0"),
        (
            "algorithm: asgd",
            "codec: topk",
            "'topk' needs more than its name: write {kind: topk, keep",
        ),
        ("algorithm: asgd", "codec: {kind: topk}", "training.codec.keep: is missing"),
        (
            "algorithm: asgd",
            "codec: {kind: topk, keep: 1}",
            "codec.keep: 1 has no unit: write it in %",
        ),
        ("algorithm: asgd", "codec: {kind: topk, keep: 0%}", "training.codec.keep: keep is 0%"),
    ],
)
def test_a_mistake_in_training_is_named_with_its_remedy(old: str, new: str, message: str) -> None:
    result = mistakes((old, new))
    assert any(message in line for line in result), result


def test_a_round_of_one_mini_batch_can_be_cut() -> None:
    rounds = "{kind: local-sgd, steps: 1}"
    changes = f"codec: dense\n  synchronization: {rounds}\n  schedule: dynacomm"
    assert small(("algorithm: asgd", changes)).training.schedule == DynaComm()


@pytest.mark.parametrize(
    ("value", "message"), [("{replan: 5}", "a mapping without"), ("[ibatch]", "a list is not a")]
)
def test_a_missing_kind_is_told_with_the_known_ones(value: str, message: str) -> None:
    (line,) = mistakes(("algorithm: asgd", f"algorithm: asgd\n  schedule: {value}"))
    assert line.startswith(f"scenario:6: training.schedule: {message}")
    assert line.endswith("`kind`: sequential or layer-by-layer or ibatch or dynacomm")
