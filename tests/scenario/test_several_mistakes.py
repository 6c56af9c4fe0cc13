"""Several mistakes in one scenario: all of them are told, in the order of the file."""

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
