"""Errors of a wrong scenario: the place, the value that was found, and the remedy."""

import pytest

from tests.fakes.small_scenario import SMALL, mistakes


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
            "scenario:2: virtual.learner: 'numyp' (did you mean 'numpy'?) is not tensorflow or "
            "numpy or none",
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
        ("stop: {updates: 10}", "", "stop: is missing: stop conditions:"),
        (
            "{updates: 10}",
            "{}",
            "scenario:6: stop: is empty: give updates, accuracy, loss, time, driver or metric",
        ),
        ("{updates: 10}", "{updates: 0}", "stop.updates: 0 is not at least 1"),
        ("{updates: 10}", "{accuracy: 97}", "stop.accuracy: 97 has no unit"),
        ("{updates: 10}", "{loss: .inf}", "stop.loss: inf is not a finite number"),
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
