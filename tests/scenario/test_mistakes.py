"""What is said of a wrong scenario: the place, what was found, and the remedy."""

import pytest

from emulator.schedules import DynaComm
from tests.fakes.small_scenario import SMALL, mistakes, small


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: small", "", "scenario:1: name: is missing: name of the scenario"),
        ("name: small", "nmae: small", "scenario:1: nmae: no such key (did you mean 'name'?)"),
        ("name: small", "name: a/b", "scenario:1: name: 'a/b' is no name for a folder"),
        ("name: small", "name: ..", "name: '..' is no name for a folder"),
        ("name: small", "name: 7", "name: 7 is not text"),
        ("name: small", "name: small\nseed: 1.5", "scenario:2: seed: 1.5 is not a whole number"),
        ("name: small", "name: small\nseed: true", "seed: true is not a whole number"),
        (
            "name: small",
            "name: small\nname: x",
            "scenario:2: name: is written twice (first on line 1)",
        ),
        (
            "name: small",
            "name: small\nname: [",
            "scenario:4: this is not YAML: expected ',' or ']'",
        ),
        ("name: small", "name: small\n\tx: 1", "scenario:2: this is not YAML: a tab where YAML"),
        ("name: small", "name: !x small", "scenario:1: name: the tag !x has no meaning here"),
        ("name: small", "name: &x [*x]", "name[0]: an alias inside its own anchor has no end"),
        (
            "name: small",
            "name: small\ntargets: []",
            "targets: is empty: name at least one accuracy",
        ),
        ("name: small", "name: small\ntargets: [0%]", "targets: 0%: a target must be above zero"),
        ("name: small", "name: small\ntargets: [0.5]", "targets[0]: 0.5 has no unit"),
        (
            "name: small",
            "name: small\nvirtual: {learner: numyp}",
            "scenario:2: virtual.learner: 'numyp' is not tensorflow or numpy or none (did you mean "
            "'numpy'?)",
        ),
        (
            "name: small",
            "name: small\nvirtual: {layers: {forward: [1, 1], backward: [1, 1]}}",
            "virtual.layers.forward: 2 layers, and 'digits-mlp' has 3: give the time of each layer",
        ),
        (
            "name: small",
            "name: small\nvirtual: {layers: {forward: [1, 1, 1], backward: [1, 1]}}",
            "virtual.layers: 3 layers forward and 2 backward: give both for each",
        ),
        (
            "name: small",
            "name: small\nvirtual: {layers: {forward: [0, 0, 0], backward: [0, 0, 0]}}",
            "virtual.layers: all times are zero: give at least one layer a time above zero",
        ),
        (
            "name: small",
            "name: small\nvirtual: {layers: {forward: [1, -1, 1], backward: []}}",
            "virtual.layers.forward[1]: -1 is not at least 0.0",
        ),
        (
            "name: small",
            "name: small\nvirtual: {learner: }",
            "virtual.learner: is empty: it must be tensorflow or numpy or none",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: topk, keep: 1%, values: f61}",
            "training.codec.values: 'f61' is not f32 or f16 or bf16 or int8 or ternary",
        ),
        ("dataset: digits", "", "training.dataset: is missing: data set to learn from"),
        (
            "dataset: digits",
            "dataset: digts",
            "'digts' is not mnist or fashion-mnist or digits or sentences (did",
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
            "scenario:6: training.schedule: 'dynacom' is not sequential or layer-by-layer or "
            "ibatch or dynacomm (did you mean 'dynacomm'?)",
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
            "training.codec: levels is 200: write a number from 1 to 127",
        ),
        (
            "asgd",
            "signsgd\n  optimizer: adam",
            "training.optimizer: 'signsgd' sets this key too",
        ),
        (
            "asgd",
            "asgd\n  optimizer: {kind: adam, beta1: 1}",
            "training.optimizer: beta1 is 1: write a number from 0 to below 1",
        ),
        (
            "asgd",
            "asgd\n  optimizer: momentun",
            "(did you mean 'momentum'?)",
        ),
        (
            "algorithm: asgd",
            "codec: dense\n  synchronization: {kind: fedavg, clients: 0%}",
            "training.synchronization: clients is 0%: write a share above 0% and up to 100%",
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
        ("asgd", "asgdd", "training.algorithm: 'asgdd' is not asgd or ada-sgd"),
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
            "training.split: 'idd' is not iid or shards or dirichlet or mixture (did",
        ),
        ("asgd", "asgd\n  split: {kind: shard}", "split.kind: 'shard' is not iid or shards"),
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
        ("stop: {updates: 10}", "", "stop: is missing: stop conditions:"),
        ("{updates: 10}", "{}", "scenario:6: stop: is empty: give updates, accuracy or time"),
        ("{updates: 10}", "{updates: 0}", "stop.updates: 0 is not at least 1"),
        ("{updates: 10}", "{accuracy: 97}", "stop.accuracy: 97 has no unit"),
        ("{updates: 10}", "{accuracy: 970%}", "stop.accuracy: '970%' is more than 100%"),
        ("{updates: 10}", "{time: 0s}", "stop.time: 0s is not above zero"),
        ("{updates: 10}", "{time: 5m}", "stop.time: '5m': write 5min"),
        ("stop:", "evaluate: {every: 0}\nstop:", "scenario:6: evaluate.every: 0 is not at least 1"),
        ("stop:", "server: {encrypt: yes}\nstop:", "server.encrypt: 'yes' is not true or false"),
        (
            "stop:",
            "server: {link: fioss}\nstop:",
            "'fioss' is no link preset (did you mean 'fios'?)",
        ),
        ("stop:", "server: {checkpoint: 30s}\nstop:", "server.checkpoint: '30s' is not a mapping"),
        ("name: one", "count: 1", "scenario:8: devices[0].name: is missing: name of the group"),
        (
            "name: one",
            "name: One",
            "devices[0].name: 'One': a name is of a-z, 0-9 and inner hyphens",
        ),
        ("name: one", "name: one-", "devices[0].name: 'one-': a name is of"),
        ("name: one", "name: server", "devices[0].name: 'server' is the name of another role"),
        ("name: one", f"name: {'x' * 41}", "is longer than 40 characters"),
        ("{name: pair", f"{{name: {'x' * 39}", "is longer than 40 characters"),
        (
            "name: one",
            "name: pair",
            "scenario:9: devices[1].name: 'pair' is the name of devices[0]",
        ),
        ("name: one", "name: pair-1", "devices[1].name: 'pair-1' is the name of devices[0] too"),
        ("count: 2", "count: 0", "scenario:9: devices[1].count: 0 is not at least 1"),
        ("count: 2", "count: 1000000000", "devices[1].count: 1000000000 is not at most 10000"),
        ("count: 2", "cuont: 2", "devices[1].cuont: no such key (did you mean 'count'?)"),
        ("count: 2", "profile: lptop", "'lptop' is no device profile (did you mean 'laptop'?)"),
        ("count: 2", "profile: {memory: 1MiB}", "devices[1].profile: memory 1MiB is too small"),
        ("count: 2", "profile: {cpu: 0.1%}", "devices[1].profile: cpu 0.1% is too small"),
        (
            "count: 2",
            "link: nowhere/x.yaml",
            "'nowhere/x.yaml' is no link preset: there is no file",
        ),
        (
            "count: 2",
            "link: {up: {rate: 10Mbps}}",
            "devices[1].link.up.rate: '10Mbps': write 10mbit",
        ),
        ("count: 2", "link: {up: {delay: 25}}", "devices[1].link.up.delay: 25 has no unit"),
        (
            "count: 2",
            "link: {up: {jitter: 1ms}}",
            "devices[1].link.up: jitter 1ms is above its delay",
        ),
        ("count: 2", "failures: [x]", "'x' is no failure profile: there are"),
        ("count: 2", "failures: flaky-home", "devices[1].failures: 'flaky-home' is not a list"),
        (
            "count: 2",
            "failures: [flaky-home, flaky-home]",
            "two failure profiles are named 'flaky-",
        ),
        ("  - name: one\n", "  - 7\n", "scenario:8: devices[0]: 7 is not a mapping"),
        (SMALL[SMALL.index("  - name") :], "  []", "devices: is empty: name at least one device"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_remedy(old: str, new: str, message: str) -> None:
    result = mistakes((old, new))
    assert any(message in line for line in result), result


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "{kind: crash, nodes: [on], at: 1s}",
            "faults[0].nodes[0]: 'on' is no device (did you mean 'one",
        ),
        (
            "{kind: crash, nodes: [server], at: 1s}",
            "'server' is no device: faults strike devices only",
        ),
        ("{kind: crash, nodes: [], at: 1s}", "faults[0].nodes: is empty: name the devices"),
        ("{kind: crash, nodes: one, at: 1s}", "faults[0].nodes: 'one' is not a list"),
        (
            "{kind: flap, nodes: [one], per_iteration: 1%, outage: 1s, uptime: 1s}",
            "faults[0].per_iteration: draws one strike, and the kind comes and goes",
        ),
        (
            "{kind: crahs, nodes: [one], at: 1s}",
            "'crahs' is not availability or ",
        ),
        (
            "{kind: crash, nodes: [one]}",
            "faults[0]: say when: `at`, `every` or `per_iteration` (none found)",
        ),
        ("{kind: crash, nodes: [one], at: 60}", "faults[0].at: 60 has no unit"),
        ("{kind: crash, nodes: [one], at: 1s, lats: 1s}", "no such key (did you mean 'lasts'?)"),
        (
            "{kind: crash, nodes: [one], at: 1s, every: 1s}",
            "faults[0]: say when: `at`, `every` or `per_iteration` (at and every found)",
        ),
        ("{kind: crash, at: 1s}", "faults[0].nodes: is missing: name devices or groups, write all"),
        ("{kind: crash, nodes: one, at: 1s}", "'one' is not a list: write [one], or all for all"),
        (
            "{kind: crash, nodes: all, at: 1s, between: [1s, 2s]}",
            "faults[0].between: is the window of `every`: give `every`, or leave it out",
        ),
        (
            "{kind: crash, nodes: all, every: 1h, between: [2s, 1s]}",
            "faults[0].between: the window from 2s to 1s is empty: write the earlier time first",
        ),
        ("{kind: crash, nodes: all, every: 1h, between: [2s]}", "faults[0].between"),
        ("{kind: crash, nodes: all, every: 1h, between: [1s, nd]}", "between[1]: 'nd' is not a"),
        ("{kind: crash, nodes: all, at: 1s, keeps: all}", "faults[0].keeps: 'all' is not state"),
        ("{kind: crash, count: 0, at: 1s}", "faults[0].count: 0 is not at least 1"),
        ("{kind: crash, count: 4, at: 1s}", "faults[0].count: 4 devices of 3: write 3 or less"),
        (
            "{kind: crash, nodes: [pair], count: 3, at: 1s}",
            "faults[0].count: 3 devices of 2: write 2 or less",
        ),
        ("{kind: crash, share: 0%, at: 1s}", "faults[0].share: 0% strikes no device"),
        ("{kind: crash, share: 120%, at: 1s}", "faults[0].share: '120%' is more than 100%"),
        ("{kind: crash, count: 1, share: 9%, at: 1s}", "share: stands beside `count`: give one"),
        (
            "{kind: crash, nodes: all, per_iteration: 1%, together: true}",
            "faults[0].together: `per_iteration` is drawn by each device alone",
        ),
        (
            "{kind: crash, nodes: all, at: 1s, spread: 1s}",
            "faults[0].spread: delays the devices of a common fault: add `together: true`",
        ),
        ("{kind: crash, nodes: all, at: 1s, together: 1}", "together: 1 is not true or false"),
        ("{nodes: [one], at: 1s}", "faults[0]: a mapping without a `kind`"),
        ("crash", "faults[0]: 'crash' is not a mapping with a `kind`"),
    ],
)
def test_a_fault_that_cannot_be_aimed_is_refused(fault: str, message: str) -> None:
    result = mistakes(("stop:", f"faults: [{fault}]\nstop:"))
    assert len(result) == 1
    assert message in result[0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{kind: crash, every: {poison: 1s}}", "every: 'poison' is not fixed or exponential or"),
        ("{kind: crash, every: 5}", "faults[0].every: 5 has no unit"),
        ("{kind: crash, every: {uniform: [2s, 1s]}}", "uniform runs from 2s to 1s"),
        ("{kind: crash, every: {uniform: [2s]}}", "every.uniform"),
        (
            "{kind: crash, every: {lognormal: [2s, 1000]}}",
            "the sigma of lognormal is 1000: it is 10 at most",
        ),
        (
            "{kind: crash, every: {weibull: [2s, 0.001]}}",
            "the shape of weibull is 0.001: it is 0.01 at least",
        ),
        ("{kind: crash, every: {lognormal: [2s, 1s]}}", "lognormal[1]: '1s' is not a number"),
        ("{kind: crash}", "say when: `at`, `every` or `per_iteration` (none found)"),
        ("{kind: crash, every: 1s, per_iteration: 1%}", "(every and per_iteration found)"),
        ("{kind: crash, every: 1s, count: 2}", "faults[0].count: 2 devices of 1: write 1 or less"),
        ("{kind: crash, every: 1s, nodes: [one]}", "faults[0].nodes: no such key"),
    ],
)
def test_a_failure_profile_that_cannot_be_drawn_is_refused(fault: str, message: str) -> None:
    failures = f"failures: [{{name: mine, faults: [{fault}]}}]"
    result = mistakes(("count: 2", failures))
    assert len(result) == 1
    assert result[0].startswith("scenario:9: devices[1].failures[0].faults[0]")
    assert message in result[0]


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
