"""Several mistakes in one scenario: all of them are told, in the order of the file."""

import pytest

from tests.fakes.small_scenario import mistakes


def test_all_mistakes_are_told_at_once_in_the_files_order() -> None:
    result = mistakes(
        ("name: small", "name: small\nsede: 3"),
        ("digits-mlp", "digits-mpl"),
        ("asgd", "asgd\n  codec: dense"),
        ("name: one", "name: pair"),
        ("count: 2", "link: {up: {rate: 1, delay: 1ms, jitter: 2ms}}"),
        ("stop:", "faults: [{kind: crash, nodes: [nobody], at: 1s}]\nstop:"),
        overrides=("devices[9].name=x",),
    )
    places = [line.split(": ")[:2] for line in result]
    assert places == [
        ["scenario:2", "sede"],
        ["scenario:5", "training.model"],
        ["scenario:7", "training.codec"],
        ["scenario:8", "faults[0].nodes[0]"],
        ["scenario:12", "devices[1].link.up.rate"],
        ["scenario:12", "devices[1].link.up"],  # its jitter is above its delay
        ["scenario:12", "devices[1].name"],
        ["--set devices[9].name=x", "devices has no entry [9]"],
    ]


def test_a_schedule_that_cannot_be_kept_is_one_of_all_mistakes() -> None:
    training = (
        "codec: {kind: topk, keep: 1%, scope: global}\n"
        "  synchronization: fedavg\n"
        "  schedule: dynacomm"
    )
    found = mistakes(("algorithm: asgd", training), ("dataset: digits", "dataset: digts"))
    places = [message.split(": ")[:2] for message in found]
    assert places == [
        ["scenario:3", "training.dataset"],
        ["scenario:7", "training.schedule"],
        ["scenario:7", "training.schedule"],
    ]


def test_a_wrong_number_does_not_hide_behind_a_wrong_word() -> None:
    change = "algorithm: asgd\n  schedule: {kind: dynacomm, replan: 0, method: slow}"
    assert mistakes(("algorithm: asgd", change)) == [
        "scenario:6: training.schedule.replan: 0 is too small: write a whole number from 1 up",
        "scenario:6: training.schedule.method: 'slow' is not fast or paper",
    ]


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (
            "split: {kind: shards, per_device: 0, more: 1}",
            ["split.per_device: 0 is too small", "split.more: no such key"],
        ),
        (
            "split: {kind: dirichlet, alpha: -1, beta: 1}",
            ["split.alpha: alpha is -1", "split.beta: no such key"],
        ),
        (
            "synchronization: {kind: groups, groups: 0, patience: 0s, assign: fast}",
            [
                "synchronization.groups: 0 is too small",
                "synchronization.assign: 'fast' is not",
                "synchronization.patience: patience is 0s",
            ],
        ),
        (
            "synchronization: {kind: bounded, bound: -1, patience: 7}",
            ["synchronization.bound: -1 is too small", "synchronization.patience: 7 has no unit"],
        ),
        (
            "synchronization: {kind: fedavg, epochs: 0, clients: 5}",
            ["synchronization.clients: 5 has no unit", "synchronization.epochs: 0 is too small"],
        ),
        (
            "synchronization: {kind: local-sgd, steps: 0, clients: 5}",
            ["synchronization.steps: 0 is too small", "synchronization.clients: 5 has no unit"],
        ),
        (
            "synchronization: {kind: softsync, splits: 0, more: 1}",
            ["synchronization.splits: 0 is too small", "synchronization.more: no such key"],
        ),
        (
            "codec: {kind: topk, keep: 0%, scope: all}",
            ["codec.keep: keep is 0%: write", "codec.scope: 'all' is not"],
        ),
        (
            "codec: {kind: dgc, warm_up: -1, clip: high}",
            ["codec.clip: 'high' is not", "codec.warm_up: -1 is too small"],
        ),
        (
            "codec: {kind: strom, threshold: 0, indices: bits}",
            [
                "codec.threshold: threshold is 0: write",
                "codec.indices: 'bits' (did you mean 'bitmap'?) is not",
            ],
        ),
        (
            "aggregation: {kind: trimmed-mean, trim: 50%, more: 1}",
            ["aggregation.trim: trim is 50%: write", "aggregation.more: no such key"],
        ),
        (
            "aggregation: {kind: norm-clip, norm: 0, more: 1}",
            ["aggregation.norm: norm is 0.0: write", "aggregation.more: no such key"],
        ),
        (
            "aggregation: {kind: krum, liars: 0, more: 1}",
            ["aggregation.liars: liars is 0: write", "aggregation.more: no such key"],
        ),
        (
            "aggregation: {kind: multi-krum, liars: 0, keep: 0}",
            ["aggregation.liars: liars is 0: write", "aggregation.keep: keep is 0: write"],
        ),
        (
            "codec: {kind: adacomp-residual, conv: 0, dense: 20000, factor: 0.5, indices: bits}",
            [
                "codec.conv: conv is 0: a bin",
                "codec.dense: dense is 20000: a bin",
                "codec.factor: factor is 0.5: write",
                "codec.indices: 'bits' (did you mean 'bitmap'?) is not",
            ],
        ),
        (
            "codec: {kind: qsgd, bucket: 0, levels: many}",
            ["codec.levels: 'many' is not", "codec.bucket: 0 is too small"],
        ),
    ],
)
def test_a_number_out_of_range_does_not_hide_behind_another_mistake(
    change: str, messages: list[str]
) -> None:
    algorithm = "codec: dense\n  " if not change.startswith("codec") else ""
    found = mistakes(("algorithm: asgd", algorithm + change))
    assert len(found) == len(messages)
    for line, message in zip(found, messages, strict=True):
        assert f"training.{message}" in line


def test_all_mistakes_of_a_fault_are_told_at_once() -> None:
    faults = (
        "{kind: slow, factor: 0%, nodes: [one], at: 1s, every: 1s, lasts: 5}",
        "{kind: byzantine, by: 0, nodes: [two], at: 1s, spread: 1s}",
        "{kind: degrade, rate: 0%, delay: 5, count: 9, share: 9%, at: 1s}",
    )
    listed = "".join(f"  - {fault}\n" for fault in faults)
    told = "\n".join(mistakes(("stop:", f"faults:\n{listed}stop:")))
    for part in (
        *("faults[0].factor: factor is 0%", "faults[0].every: say when", "faults[0].lasts: 5 has"),
        *("faults[1].by: by is 0", "faults[1].nodes[0]: 'two' is no device", "faults[1].spread"),
        *(
            "faults[2].rate: rate 0%",
            "faults[2].delay: 5 has",
            "faults[2].count",
            "faults[2].share",
        ),
    ):
        assert part in told


def test_all_mistakes_of_a_part_are_told_at_once() -> None:
    told = mistakes(
        ("algorithm: asgd", "codec: {kind: dgc, keep: 1%, momentum: 2, clip: -1}"),
        overrides=(
            "training.optimizer={kind: adam, beta1: 1, beta2: -1, epsilon: 7}",
            "training.synchronization={kind: fedavg, clients: 0%, local_rate: -1, epochs: 0}",
        ),
    )
    for key in (
        *("codec.momentum", "codec.clip", "optimizer.beta1", "optimizer.beta2"),
        *("optimizer.epsilon", "synchronization.clients", "synchronization.local_rate"),
        "synchronization.epochs",
    ):
        assert any(f"training.{key}: " in line for line in told), (key, told)


@pytest.mark.parametrize("durability", ["[1]", "updat", "{evry: 3s}", "true", "{every: 0s}"])
def test_an_unreadable_durability_hides_no_mistake_of_a_server_crash(durability: str) -> None:
    fault = "{kind: server-crash, at: 1s, nodes: [one]}"
    told = mistakes(("stop:", f"server: {{durability: {durability}}}\nfaults: [{fault}]\nstop:"))
    places = {line.split(": ")[1] for line in told}
    assert {"faults[0].nodes", "faults[0].lasts"} < places
    assert any(place.startswith("server.durability") for place in places)
    assert "faults[0].kind" not in places


@pytest.mark.parametrize(
    "change",
    [
        ("digits-mlp", "LONG"),
        ("digits-mlp", "digits-mlp\n  initial: LONG"),
        ("name: small", "name: LONG"),
        ("algorithm: asgd", "algorithm: LONG"),
        ("algorithm: asgd", "codec: {kind: topk, keep: LONG}"),
        ("name: one", "name: LONG"),
        ("name: one", "name: one\n    link: ./LONG.yaml"),
        ("name: one", "? LONG\n    : 1\n    name: one"),
        ("name: one", "name: one\n    cpus: !!LONG 3"),
        ("stop:", "faults: [{kind: crash, at: LONG, nodes: [LONG]}]\nstop:"),
        ("stop:", "faults: [{kind: availability, trace: ./LONG.json, nodes: [one]}]\nstop:"),
    ],
)
def test_a_long_text_is_quoted_in_part(change: tuple[str, str]) -> None:
    old, new = change
    told = mistakes((old, new.replace("LONG", 5_000 * "x")))
    assert all(len(line) < 1_200 for line in told)
    assert any("xxxx…" in line for line in told)
