"""Fleets to which all algorithms, codecs, codings, optimizers, aggregations and models are dealt.

Two devices make 40 updates in each, in containers and in virtual time; test_cover.py here tells
which part is in none.
"""

from collections.abc import Sequence

from emulator.scenario.reading.profiles import Library
from tests.fakes.small_scenario import SCENARIOS

UPDATES = 40

_DIGITS = "dataset: digits, model: digits-mlp"
_CNN = "dataset: mnist, model: mnist-cnn"
_MLP = "dataset: mnist, model: mnist-mlp"
_LENET = "dataset: mnist, model: mnist-lenet"
_TEXTS = "dataset: sentences, model: char-lstm"


def _topk(keep: str, values: str, indices: str) -> str:
    return f"codec: {{kind: topk, keep: {keep}, values: {values}, indices: {indices}}}"


TRAININGS = {
    "asgd": f"algorithm: asgd, {_CNN}",
    "ada-sgd": "algorithm: ada-sgd, dataset: fashion-mnist, model: mnist-softmax, "
    "pull: {kind: delta, values: f16}",
    "bsp": f"algorithm: bsp, {_MLP}, aggregation: {{kind: krum, liars: 1}}",
    "ssp": f"algorithm: ssp, {_LENET}, optimizer: {{kind: momentum, momentum: 0.5}}",
    "softsync": f"algorithm: softsync, {_DIGITS}, optimizer: adam, split: mixture",
    "fedavg": f"algorithm: fedavg, {_DIGITS}, batch_size: 60, split: {{kind: quantity, alpha: 10}}",
    "local-sgd": f"algorithm: local-sgd, {_DIGITS}, pull: {{kind: dense, values: f16}}",
    "comp-asgd": f"algorithm: comp-asgd, {_TEXTS}",
    "adacomp": f"algorithm: adacomp, {_CNN}, pull: {{kind: delta, values: f32}}",
    "adacomp-ef": f"algorithm: adacomp-ef, {_MLP}, split: shards",
    "topk-ef": "algorithm: topk-ef, dataset: digits, model: digits-softmax",
    "adacomp-residual": "algorithm: adacomp-residual, dataset: mnist, model: mnist-vgg",
    "dgc": "algorithm: dgc, dataset: mnist, model: mnist-resnet",
    "dryden": "algorithm: dryden, dataset: fashion-mnist, model: mnist-mlp, aggregation: median",
    "strom": f"algorithm: strom, {_CNN}, aggregation: norm-clip",
    "threshold-ef": f"algorithm: threshold-ef, {_DIGITS}, "
    "aggregation: {kind: trimmed-mean, trim: 30%}",
    "randomk-ef": f"algorithm: randomk-ef, {_DIGITS}",
    "onebit": f"algorithm: onebit, {_LENET}, schedule: layer-by-layer",
    "qsgd": f"algorithm: qsgd, {_DIGITS}, aggregation: {{kind: multi-krum, liars: 1}}",
    "terngrad": f"algorithm: terngrad, {_TEXTS}",
    "signsgd": f"algorithm: signsgd, {_DIGITS}",
    "ef-signsgd": "algorithm: ef-signsgd, dataset: shapes, model: shapes-resnet",
    "groups": f"codec: dense, synchronization: {{kind: groups, groups: 2}}, {_CNN}, "
    "schedule: dynacomm",
    "bf16 and a bitmap": f"{_topk('5%', 'bf16', 'bitmap')}, modulation: staleness, {_MLP}, "
    "schedule: ibatch",
    "bytes": f"{_topk('2%', 'int8', 'u16')}, {_DIGITS}",
    "signs in a matrix": f"{_topk('1%', 'ternary', 'matrix')}, {_CNN}",
    "halves by golomb": f"{_topk('1%', 'f16', 'golomb')}, {_DIGITS}",
    "shortest": f"{_topk('1%', 'f16', 'auto')}, {_DIGITS}",
    "plain": f"{_topk('1%', 'f32', 'u32')}, {_DIGITS}, split: {{kind: dirichlet, alpha: 1}}",
    "gaps": f"{_topk('1%', 'f32', 'gap')}, {_DIGITS}, schedule: sequential",
}
"""The keys of `training` of each fleet, by a name of the fleet."""


def scenario(fleet: str) -> str:
    """Return the scenario of `fleet`; its step takes as much virtual time as in containers."""
    devices = 5 if "krum" in TRAININGS[fleet] else 2
    return (
        f"name: dealt\ntraining: {{{TRAININGS[fleet]}, learning_rate: 0.01}}\n"
        f"evaluate: {{every: {UPDATES}}}\nstop: {{updates: {UPDATES}, time: 60s}}\n"
        "virtual: {step: 10ms}\n"
        f"devices: [{{name: a, count: {devices}}}]\n"
    )


_LIBRARY = Library(SCENARIOS)
PRESETS, PROFILES, BOARDS = (
    sorted(_LIBRARY.names(kind)) for kind in ("links", "failures", "devices")
)
"""Names of all link presets, failure profiles and device profiles."""


def each(of: Sequence[str], key: str, seconds: float) -> str:
    """Return a scenario with a device for each name `of` presets or profiles, given by `key`.

    A device is called as what it has.
    """
    devices = (
        f"  - {{name: {name}, {key}: {f'[{name}]' if key == 'failures' else name}}}\n"
        for name in of
    )
    return (
        "name: each\n"
        "training: {dataset: digits, model: digits-softmax, algorithm: adacomp}\n"
        f"evaluate: {{every: 100000}}\nstop: {{time: {seconds}s}}\nvirtual: {{step: 50ms}}\n"
        "devices:\n" + "".join(devices)
    )
