"""What is said of compute groups that cannot be formed."""

import pytest

from tests.fakes.small_scenario import mistakes, small

DENSE = ("algorithm: asgd", "codec: dense\n  synchronization: {kind: groups, groups: 2}")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "{kind: groups, groups: 4}",
            "scenario:6: training.synchronization.groups: 4 groups need a device each, and there "
            "are 3 devices: write 3 or less",
        ),
        ("{kind: groups, groups: 0}", "groups: 0 is too small: write a whole number from 1 up"),
        ("{kind: groups}", "training.synchronization.groups: is missing: number of groups, from 1"),
        (
            "{kind: groups, groups: 2, assign: sped}",
            "synchronization.assign: 'sped' (did you mean 'speed'?) is not order or speed",
        ),
        ("{kind: groups, groups: x}", "synchronization.groups: 'x' is not a whole number"),
        ("{kind: groups, groups: 2, more: 1}", "synchronization.more: no such key: there are gr"),
        (
            "{kind: groups, groups: 2, patience: 0s}",
            "synchronization.patience: patience is 0s: write a time",
        ),
    ],
)
def test_groups_that_cannot_be(settings: str, message: str) -> None:
    (said,) = mistakes(("algorithm: asgd", f"codec: dense\n  synchronization: {settings}"))
    assert message in said


def test_a_kind_with_the_name_of_a_key_hides_no_mistake() -> None:
    settings = "{kind: groups, groups: 2, assign: sped, patience: 3}"
    said = mistakes(("algorithm: asgd", f"codec: dense\n  synchronization: {settings}"))
    assert ["assign" in said[0], "patience" in said[1], len(said)] == [True, True, 2]


def test_every_member_needs_an_example_and_all_mistakes_are_said_at_once() -> None:
    said = mistakes(DENSE, ("name: small", "name: a/b"), overrides=("training.batch_size=1",))
    assert len(said) == 2
    assert said[0].startswith("scenario:1: name: 'a/b'")
    assert said[1] == (
        "--set training.batch_size=1: training.batch_size: a mini-batch of 1 examples cannot be "
        "dealt over the 2 devices of a group: write 2 or more, or more groups"
    )
    default = mistakes(DENSE, ("count: 2", "count: 30"))
    assert "a mini-batch of 10 examples cannot be dealt over the 16 devices" in default[0]
    assert small(DENSE, ("count: 2", "count: 19")).nodes


def test_dealt_times_stand_beside_a_step() -> None:
    (said,) = mistakes(("name: small", "name: small\nvirtual: {dealt: [{examples: 3, step: 1ms}]}"))
    assert "virtual: dealt stands beside a step: give step too" in said
