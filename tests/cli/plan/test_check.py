"""`emulate check` and `schema`: what a scenario comes to, and what is wrong with it."""

from pathlib import Path

import pytest

from emulator.checks import this_host
from emulator.cli.plan import check
from emulator.cli.plan.overview_tables import spans
from emulator.costs.host_limits import tables_of
from emulator.errors import HostError
from emulator.machine.host import Host
from emulator.runtimes.swarm.play_swarm import SwarmEngines
from emulator.scenario import cores_and_memory
from tests.fakes.typed_commands import Emulate, scenario


def test_a_good_file_is_shown_resolved(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = emulate("check", scenario(tmp_path))
    assert (result.code, result.err) == (0, "")
    for words in (
        "digits-mlp on digits",
        "algorithm: adacomp",
        "until: 100 updates",
        "near-0 … near-2",
        "25%",
        "1mbit",
        "60.0 s",
        "for good",
        "this host can carry it",
    ):
        assert words in result.out, words


@pytest.mark.parametrize(("tun", "words"), [(True, "by a box"), (False, "by their receivers")])
def test_what_delays_packets_is_said(
    emulate: Emulate,
    tmp_path: Path,
    data: None,
    monkeypatch: pytest.MonkeyPatch,
    tun: bool,
    words: str,
) -> None:
    (tmp_path / "tun").touch()
    monkeypatch.setattr(check, "TUN", tmp_path / ("tun" if tun else "none"))
    file = scenario(tmp_path, ("up: {rate: 1mbit}", "up: {rate: 1mbit, delay: 1ms}"))
    said = emulate("check", file).out
    assert "shaping: 1 link with delay, jitter or loss: by the kernel where it has netem" in said
    assert words in said
    assert emulate("check", "--json", file).json["shaping"] == {"links": 1, "tun": tun}
    assert "shaping:" not in emulate("check", file, "--on", "virtual").out
    alone = emulate("check", scenario(tmp_path)).out
    assert "shaping: 1 link with a rate alone: by tbf on the sender's host" in alone
    assert "delay, jitter or loss" not in alone and "a rate alone" not in said


def test_the_shards_of_the_server_are_shown(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = emulate("check", scenario(tmp_path), "--on", "virtual", "--set", "server.shards=2")
    assert result.code == 0
    words = "server: unshaped, of each of 2 shards: layers 1-1 (48%), layers 2-3 (52%)"
    assert words in " ".join(result.out.split())
    assert "refused in containers" not in result.out
    assert "shards" not in emulate("check", scenario(tmp_path), "--on", "virtual").out


def test_shards_are_refused_on_a_swarm_by_name(
    emulate: Emulate, tmp_path: Path, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SwarmEngines, "capacity", lambda self: Host.here())
    placed = {"home": ["near-0"], "attic": ["near-1"]}
    monkeypatch.setattr(SwarmEngines, "devices_by_host", lambda self, scenario: placed)
    monkeypatch.setattr(SwarmEngines, "tables_of_all", lambda self, scenario: [tables_of(scenario)])
    file, sharded = scenario(tmp_path), ("--set", "server.shards=2")
    refused = emulate("check", file, "--on", "swarm", *sharded)
    assert refused.code == 2
    assert "server.shards: the shards tell each other of messages over sockets of one host" in (
        " ".join(refused.out.split())
    )
    assert emulate("check", file, "--on", "docker", *sharded).code == 0
    assert emulate("check", file, "--on", "swarm").code == 0


def test_names_are_shown_as_they_are_written(emulate: Emulate, tmp_path: Path, data: None) -> None:
    file = scenario(
        tmp_path,
        ("profile: phone", 'profile: {name: "[red]n :pizza:", cpu: 5%}'),
        (
            "up: {rate: 1mbit}}}",
            "up: {rate: 1mbit}}, failures: [{name: '[b]ug', faults: [{kind: crash, every: 1h}]}]}",
        ),
    )
    result = emulate("check", file)
    assert result.code == 0
    assert "[red]n :pizza:" in result.out
    assert "[b]ug" in result.out


def test_a_good_file_for_scripts(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = emulate("check", "--json", scenario(tmp_path), "--set", "devices[0].count=4")
    assert result.code == 0
    assert [device["name"] for device in result.json["devices"]] == [
        *(f"near-{number}" for number in range(4)),
        "far",
    ]
    assert result.json["faults"] == [{"at": 60.0, "until": None, "node": "far", "fault": "crash"}]
    assert result.json["demand"]["ports"] == 7
    assert result.json["refusals"] == {"docker": [], "virtual": []}
    assert result.json["shortfalls"] == []
    assert result.json["host"].keys() == {"name", "cores", "memory", "available"}


@pytest.mark.slow
def test_every_mistake_with_its_place(emulate: Emulate, tmp_path: Path) -> None:
    file = scenario(
        tmp_path,
        ("rate: 1mbit", "rate: 10Mbps"),
        ("nodes: [far]", "nodes: [fra]"),
        ("model: digits-mlp", "model: digits-mpl"),
    )
    result = emulate("check", file)
    assert (result.code, result.out) == (2, "")
    lines = result.err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"{file}:3: training.model: ")
    assert lines[1].startswith(f"{file}:7: devices[1].link.up.rate: '10Mbps': write 10mbit")
    assert lines[2].startswith(f"{file}:9: faults[0].nodes[0]: ")
    assert "did you mean 'far'?" in lines[2]


def test_every_mistake_for_scripts(emulate: Emulate, tmp_path: Path) -> None:
    file = scenario(
        tmp_path, ("rate: 1mbit", "rate: 10Mbps"), ("model: digits-mlp", "model: digits-mpl")
    )
    result = emulate("check", "--json", file)
    assert (result.code, result.err) == (2, "")
    model, rate = result.json["mistakes"]
    assert model["message"].startswith("'digits-mpl' (did you mean 'digits-mlp'?) is not ")
    assert rate == {
        "file": str(file),
        "line": 7,
        "place": "devices[1].link.up.rate",
        "message": rate["message"],
    }
    assert "write 10mbit" in rate["message"]
    assert emulate("check", "--json", scenario(tmp_path)).json["mistakes"] == []


def test_a_file_that_is_none_for_scripts(emulate: Emulate, tmp_path: Path) -> None:
    result = emulate("check", "--json", tmp_path / "nowhere.yaml")
    assert (result.code, result.err) == (2, "")
    (mistake,) = result.json["mistakes"]
    assert (mistake["line"], mistake["place"]) == (None, "")
    assert "No such file" in mistake["message"]


def test_a_device_that_fails_too_often_for_scripts(emulate: Emulate, tmp_path: Path) -> None:
    failures = "{name: f, faults: [{kind: crash, every: {exponential: 1ms}, lasts: 1ms}]}"
    file = scenario(tmp_path, ("profile: phone", f"profile: phone, failures: [{failures}]"))
    result = emulate("check", "--json", file)
    assert (result.code, result.err) == (2, "")
    (mistake,) = result.json["mistakes"]
    assert (mistake["file"], mistake["line"] > 0) == (str(file), True)
    assert mistake["place"].endswith(".failures[0].faults[0]")
    assert mistake["message"] in emulate("check", file).err


def test_a_host_that_is_too_small(emulate: Emulate, tmp_path: Path, data: None) -> None:
    result = emulate("check", scenario(tmp_path, ("profile: phone", "profile: {memory: 9000GiB}")))
    assert result.code == 1
    assert "error memory: one device may take 9000GiB" in result.out
    assert "this host can carry it" not in result.out


def test_a_title_is_one_line_and_a_core_is_one(
    emulate: Emulate, tmp_path: Path, data: None
) -> None:
    result = emulate("check", scenario(tmp_path, ("profile: phone", "profile: {cpu: 25%}")))
    assert "\nfaults, as compiled from the seed" in result.out
    alone = scenario(tmp_path, ("near, count: 3, profile: phone", "near, profile: {cpu: 100%}"))
    assert (
        "cpu            1 core for the devices, 1 device without a quota "
        in emulate("check", alone).out
    )


def test_a_long_table_says_that_it_is_cut(emulate: Emulate, tmp_path: Path) -> None:
    links = [f"  - {{name: d{n}, link: {{up: {{rate: {n + 1}mbit}}}}}}" for n in range(60)]
    file = scenario(tmp_path, ("faults:", "\n".join([*links, "faults:"])))
    assert "… 22 more (--json shows all)" in emulate("check", file).out
    assert len(emulate("check", file, "--json").json["devices"]) == 64


def test_the_schema_is_for_editors(emulate: Emulate) -> None:
    assert emulate("schema").json["properties"].keys() >= {"name", "training", "devices"}


def test_quantities_are_numbers_in_base_units_for_scripts(
    emulate: Emulate, tmp_path: Path, data: None
) -> None:
    link = "link: {up: {rate: 1mbit, delay: 25ms, jitter: 3ms, loss: 0.1%}}"
    failures = "failures: [{name: bug, faults: [{kind: crash, per_iteration: 2%}]}]"
    file = scenario(tmp_path, ("link: {up: {rate: 1mbit}}", f"{link}, {failures}"))
    split = ("--set", "training.split={kind: dirichlet, alpha: 0.3}")
    result = emulate("check", "--json", file, *split).json
    near, far = result["devices"][0], result["devices"][-1]
    assert (near["profile"], near["cpu"], near["memory"]) == ("phone", 0.25, 256 << 20)
    still = {"rate": None, "delay": 0, "jitter": 0, "loss": 0, "setup": 0}
    rated = {"rate": 1e6, "delay": 0.025, "jitter": 0.003, "loss": 0.001, "setup": 0}
    assert (far["up"], far["down"]) == (rated, still)
    assert (far["profile"], far["cpu"], far["failures"]) == (None, None, ["bug"])
    assert result["server"] == {"up": still, "down": still}
    assert result["hazards"] == [{"node": "far", "fault": "crash", "per_iteration": 0.02}]
    assert result["algorithm"] == "adacomp"
    assert result["training"]["split"] == {"kind": "dirichlet", "alpha": 0.3}
    assert result["training"]["codec"]["keep"] == 0.01


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("training.split={kind: dirichlet, alpha: 3}", "split: {kind: dirichlet, alpha: 3.0}"),
        ("training.codec.keep=2%", "keep: 2%, "),
        (
            "training={dataset: digits, model: digits-mlp, algorithm: fedavg}",
            "synchronization: {kind: fedavg, clients: 10%, epochs: 1, patience: 5min}",
        ),
        ("training.pull=delta", "pull: {kind: delta, values: f32}"),
        (
            "training.schedule={kind: dynacomm, replan: 9}",
            "schedule: {kind: dynacomm, replan: 9, method: fast}",
        ),
        ("seed=4", "optimizer: sgd"),
        ("training.schedule=sequential", "schedule: sequential"),
        ("seed=4", "schedule: sequential"),
    ],
)
def test_the_parameters_of_each_choice_are_shown(
    emulate: Emulate, tmp_path: Path, data: None, override: str, line: str
) -> None:
    assert line in emulate("check", scenario(tmp_path), "--set", override).out


# -- what `run` would refuse -----------------------------------------------------------------------


def test_data_that_is_missing(emulate: Emulate, tmp_path: Path) -> None:
    result = emulate("check", scenario(tmp_path))
    assert result.code == 1
    assert "error digits is not here: run `emulate data digits`" in result.out
    assert "this host can carry it" not in result.out


@pytest.mark.parametrize(
    ("override", "code", "why"),
    [
        ("training.batch_size=60", 2, "training.split: iid leaves near-0 (50), near-1 (50)"),
        ("devices[0].profile={cpu: 99900%}", 1, "devices[0].profile.cpu: 99900% is more than"),
        ("server.link={up: {rate: 40bit}}", 2, "server.link.up.rate: 40bit is not from 100bit to"),
        ("devices[1].link={down: {rate: 100gbit}}", 2, "devices[1].link.down.rate: 100gbit is not"),
        (
            "bottlenecks=[{name: street, up: {rate: 1mbit}, members: [near]}]",
            1,
            "ports: the run needs 7 ports of one bridge, and this host has 6: leave out the",
        ),
    ],
)
def test_what_containers_refuse(
    emulate: Emulate,
    tmp_path: Path,
    data: None,
    monkeypatch: pytest.MonkeyPatch,
    override: str,
    code: int,
    why: str,
) -> None:
    monkeypatch.setattr(cores_and_memory, "PORTS", 6)
    for command in ("check", "run"):
        result = emulate(command, scenario(tmp_path), "--set", override)
        assert result.code == code
        assert why in result.out + result.err
        assert "this host can carry it" not in result.out


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (("training.batch_size=60",), "training.split: iid leaves near-0 (50), near-1 (50)"),
        (
            (
                "virtual.learner=numpy",
                "training={dataset: mnist, model: mnist-cnn, algorithm: asgd}",
            ),
            "virtual.learner: NumPy learns perceptrons only, mnist-mlp or mnist-softmax",
        ),
        (
            ("virtual.learner=none", "stop.accuracy=90%"),
            "stop.accuracy: with virtual.learner none nobody learns",
        ),
        (
            ("virtual={learner: none, step: 0s, boot: 1s}", "stop={time: 1min}"),
            "virtual.step: is always 0s, and devices[0] has no link that takes time",
        ),
    ],
)
def test_what_virtual_time_refuses(
    emulate: Emulate, tmp_path: Path, data: None, overrides: tuple[str, ...], why: str
) -> None:
    words = [word for item in overrides for word in ("--set", item)]
    for command in ("check", "run"):
        result = emulate(command, scenario(tmp_path), "--on", "virtual", *words)
        assert result.code == 2
        assert why in result.out + result.err
        assert not (tmp_path / "cache").exists(), "nothing is calibrated before"
    assert (
        why in emulate("check", scenario(tmp_path), "--json", *words).json["refusals"]["virtual"][0]
    )


def test_a_machine_without_tensorflow(
    emulate: Emulate, tmp_path: Path, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        raise HostError("TensorFlow is not installed")

    monkeypatch.setattr(this_host, "tensorflow_version", missing)
    given = ("--set", "virtual={learner: numpy, step: 1ms, boot: 1s}")
    assert emulate("check", scenario(tmp_path), *given).code == 1
    assert emulate("check", scenario(tmp_path), *given, "--on", "virtual").code == 0
    assert emulate("check", scenario(tmp_path), "--on", "virtual").code == 1
    cut = (*given, "--set", "training.schedule=dynacomm", "--on", "virtual")
    measured = emulate("check", scenario(tmp_path), *cut)
    assert measured.code == 1
    assert "with virtual.step, virtual.boot and virtual.layers nothing is measured" in measured.out
    layers = "virtual.layers={forward: [1, 1, 1], backward: [1, 1, 1]}"
    assert emulate("check", scenario(tmp_path), *cut, "--set", layers).code == 0


def test_what_the_other_runtime_refuses_is_a_note(
    emulate: Emulate, tmp_path: Path, data: None
) -> None:
    words = ("--set", "virtual.learner=none", "--set", "stop.accuracy=90%")
    result = emulate("check", scenario(tmp_path), *words)
    assert result.code == 0
    assert "note refused in virtual time: stop.accuracy: with virtual.learner none" in result.out
    assert "this host can carry it" in result.out


# -- what a runtime does not keep ------------------------------------------------------------------


def test_what_a_runtime_does_not_keep_is_said(emulate: Emulate, tmp_path: Path, data: None) -> None:
    file, words = scenario(tmp_path), ("--set", "virtual.tcp=false")
    result = emulate("check", file, *words)
    assert "note not kept in containers: virtual.tcp: the kernel's TCP" in result.out
    (actual,) = emulate("check", "--json", file, *words).json["not_kept"]["docker"]
    assert actual["keys"] == ["virtual.tcp"]
    started = emulate("run", file, *words)  # which no engine answers
    assert started.out.startswith("not kept in containers: virtual.tcp: the kernel's TCP")


def test_only_the_keys_that_the_chosen_runtime_ignores_are_notes(
    emulate: Emulate, tmp_path: Path, data: None
) -> None:
    words = ("--set", "virtual.tcp=false", "--set", "devices[0].profile={memory: 512MiB}")
    for on, ignored in (("docker", "containers: virtual.tcp:"), ("virtual", "virtual time: dev")):
        out = emulate("check", scenario(tmp_path), *words, "--on", on).out
        assert out.count("note not kept in") == 1
        assert f"note not kept in {ignored}" in out


@pytest.mark.parametrize("on", ["docker", "virtual"])
def test_a_codec_that_presumes_another_optimizer_is_warned_of(
    emulate: Emulate, tmp_path: Path, data: None, on: str
) -> None:
    training = "training={{dataset: digits, model: digits-mlp, codec: dgc, optimizer: {}}}"
    command = ("check", scenario(tmp_path), "--on", on, "--set")
    result = emulate(*command, training.format("adam"))
    assert result.code == 0
    assert (
        "warning training.optimizer: adam: the codec dgc presumes sgd: its devices gather"
        in result.out
    )
    assert "presumes" not in emulate(*command, training.format("sgd")).out
    assert "presumes" not in emulate(*command, training.format("adam").replace("dgc", "dense")).out


@pytest.mark.parametrize(
    ("aggregation", "words"),
    [
        ("{kind: trimmed-mean, trim: 30%}", "leaves out nothing of the 3 gradients of a step"),
        ("{kind: trimmed-mean, trim: 34%}", ""),
        ("{kind: trimmed-mean, trim: 10%}", ""),  # it leaves out nothing of all gradients either
        ("median", ""),
    ],
)
def test_a_trim_that_a_quarantine_brings_to_nothing_is_warned_of(
    emulate: Emulate, tmp_path: Path, data: None, aggregation: str, words: str
) -> None:
    training = f"aggregation: {aggregation}, synchronization: barrier"
    text = f"training={{dataset: digits, model: digits-mlp, codec: dense, {training}}}"
    devices = "devices=[{name: a, count: 4}]"
    command = ("check", scenario(tmp_path), "--set", text, "--set", devices, "--set", "faults=[]")
    alone, quarantined = (
        emulate(*command, "--set", f"server.quarantine={rule}").out for rule in ("null", "{}")
    )
    assert "quarantine" not in alone
    assert ("warning training.aggregation: trim: 30% " in quarantined) == bool(words)
    assert words in quarantined


@pytest.mark.parametrize(("count", "warned"), [(5, True), (6, False)])
def test_krum_with_one_gradient_less_is_warned_of(
    emulate: Emulate, tmp_path: Path, data: None, count: int, warned: bool
) -> None:
    training = "aggregation: {kind: krum, liars: 1}, synchronization: barrier"
    text = f"training={{dataset: digits, model: digits-mlp, codec: dense, {training}}}"
    devices = f"devices=[{{name: a, count: {count}}}]"
    sets = (text, devices, "faults=[]", "server.quarantine={}")
    out = emulate("check", scenario(tmp_path), *(w for s in sets for w in ("--set", s))).out
    assert ("to withstand 1 liar, a step needs 5 gradients" in out) == warned


def test_a_set_up_time_is_kept_by_both(emulate: Emulate, tmp_path: Path, data: None) -> None:
    file = scenario(tmp_path, ("up: {rate: 1mbit}", "up: {rate: 1mbit, setup: 20ms}"))
    assert "1mbit 20ms set-up" in emulate("check", file).out
    assert emulate("check", "--json", file).json["not_kept"]["docker"] == []


GROUPED = (
    "training={dataset: digits, model: digits-mlp, codec: dense, batch_size: 7, "
    "synchronization: {kind: groups, groups: 2}}"
)


def test_compute_groups_are_shown(emulate: Emulate, tmp_path: Path, data: None) -> None:
    file = scenario(tmp_path)
    words = ("--set", GROUPED, "--set", "virtual.step=70ms")
    shown = " ".join(emulate("check", file, *words).out.split())
    assert "2 compute groups group devices mini-batch a step on a whole core" in shown
    assert "0 near-0 4 40ms near-1 3 30ms 1 near-2 4 40ms far 3 30ms" in shown
    first, second = emulate("check", "--json", file, *words).json["groups"]
    assert [batch["devices"] for batch in first["batches"]] == [["near-0"], ["near-1"]]
    assert second["number"] == 1
    assert [batch["examples"] for batch in second["batches"]] == [4, 3]
    assert second["batches"][1]["step"] == pytest.approx(0.03)
    assert "groups" not in emulate("check", "--json", file).json


def test_names_of_a_group_are_shortened() -> None:
    assert spans(["a-0", "a-1", "a-2", "b", "c-1", "c-2"]) == "a-0 … a-2, b, c-1, c-2"
    assert spans(["a-0", "a-2", "a-3", "a-4", "a"]) == "a-0, a-2 … a-4, a"


NETWORK = (
    "network={routers: [a, b, c], links: [{between: [a, b], up: {rate: 1mbit, delay: 2ms}}, "
    "{between: [b, c], down: {delay: 9ms}}, {between: [c, a]}], attach: {'*': a}, server: c}"
)


def test_the_paths_through_a_network_are_shown(
    emulate: Emulate, tmp_path: Path, data: None
) -> None:
    file = scenario(tmp_path)
    out = emulate("check", file, "--set", NETWORK, "--on", "virtual").out
    assert "a → c" in out and "and back" not in out
    longer = NETWORK.replace("{between: [c, a]}", "{between: [c, a], down: {delay: 10ms}}")
    result = emulate("check", file, "--set", longer, "--json", "--on", "virtual")
    (path,) = result.json["paths"]
    assert (path["up"], path["down"]) == (["a", "b", "c"], ["c", "a"])
    assert path["shared"]["up"] == {"rate": 1e6, "delay": 0.002}
    links = {link["name"]: len(link["devices"]) for link in result.json["network"]}
    assert len(set(links.values())) == 1
    out = emulate("check", file, "--set", longer, "--on", "virtual").out
    assert "a → b → c, and back c → a" in " ".join(out.split())
    assert (
        "network: containers have gateways of bottlenecks"
        in emulate("check", file, "--set", NETWORK).out
    )
