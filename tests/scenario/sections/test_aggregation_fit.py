"""Which aggregations a scenario may ask for, and the words for those that cannot work."""

import pytest

from tests.fakes.small_scenario import mistakes, small

ALGORITHM = "algorithm: asgd"


def training(aggregation: str, synchronization: str, more: str = "") -> tuple[str, str]:
    keys = ("codec: dense", f"aggregation: {aggregation}", f"synchronization: {synchronization}")
    return ALGORITHM, "\n  ".join((*keys, *([more] if more else [])))


@pytest.mark.parametrize(
    ("aggregation", "synchronization"),
    [
        ("mean", "asynchronous"),
        ("median", "barrier"),
        ("{kind: trimmed-mean, trim: 30%}", "{kind: groups, groups: 2}"),
        ("{kind: krum, liars: 1}", "barrier"),
        ("{kind: krum, liars: 1}", "{kind: local-sgd, steps: 2}"),
        ("{kind: multi-krum, liars: 2}", "{kind: fedavg, clients: 100%}"),
        ("norm-clip", "softsync"),
        ("{kind: norm-clip, norm: 1}", "asynchronous"),
    ],
)
def test_what_has_gradients_enough_is_taken(aggregation: str, synchronization: str) -> None:
    scenario = small(training(aggregation, synchronization), ("count: 2", "count: 7"))
    assert scenario.training.aggregation.kind in aggregation
    shown = scenario.training.described
    assert (scenario.training.aggregation.kind in shown) == (aggregation != "mean")


@pytest.mark.parametrize(
    ("aggregation", "synchronization", "more", "message"),
    [
        (
            "median",
            "asynchronous",
            "",
            "training.aggregation: 'median' chooses among the gradients of a step, and with "
            "'asynchronous' and these devices a step has one: use barrier, softsync, groups or",
        ),
        ("norm-clip", "bounded", "", "with 'bounded' and these devices a step has one"),
        ("median", "{kind: softsync, splits: 8}", "", "with 'softsync' and these devices"),
        ("median", "{kind: groups, groups: 8}", "", "with 'groups' and these devices"),
        ("median", "{kind: fedavg, clients: 10%}", "", "with 'fedavg' and these devices"),
        (
            "{kind: krum, liars: 3}",
            "barrier",
            "",
            "training.aggregation.liars: to withstand 3 liars, a step needs 9 gradients "
            "(2 · liars + 3), and here a step has 8: write 2 or less",
        ),
        ("{kind: multi-krum, liars: 2}", "{kind: barrier, quorum: 50%}", "", "a step has 4"),
        ("krum", "barrier", "", "'krum' needs more than its name: write {kind: krum, liars: …}"),
        ("{kind: trimmed-mean, trim: 50%}", "barrier", "", "trim is 50%: write a share above 0%"),
        ("medain", "barrier", "", "'medain' (did you mean 'median'?) is not mean or median"),
        (
            "median",
            "barrier",
            "fully_connected: {place: server}",
            "training.aggregation: 'median' does not go with fully_connected: the server's layers "
            "learn from activations",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_the_remedy(
    aggregation: str, synchronization: str, more: str, message: str
) -> None:
    change = training(aggregation, synchronization, more)
    assert any(message in mistake for mistake in mistakes(change, ("count: 2", "count: 7")))
