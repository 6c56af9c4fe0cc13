"""Devices that wait before each gradient, in virtual time, with times by hand."""

from pathlib import Path
from random import Random

import pytest

from emulator import chance
from tests.fakes.plain_records import PlainRecord
from tests.fakes.virtual.struck_world import struck, update_times

WORLD = """
# Does a straggler wait?
name: straggling
seed: 5
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}
stop: {time: 12s}
virtual: {learner: none, step: 100ms, boot: 250ms, tcp: false}
devices:
  - {name: a}
  - {name: b}
"""
LAG = "kind: straggler, nodes: [a], delay: 1s"


def world(tmp_path: Path, *faults: str, overrides: tuple[str, ...] = ()) -> list[PlainRecord]:
    return struck(tmp_path, WORLD, faults, overrides)


def test_a_straggler_waits_before_each_gradient_and_catches_up(tmp_path: Path) -> None:
    """Links take no time here, so an update follows the one before by a wait and a step."""
    records = world(tmp_path, f"{LAG}, at: 2.05s, lasts: 2s")
    # the gradient of 2.0 s is computed already; the wait of 3.2 s to 4.2 s comes to its end
    assert update_times(records, 1.95, 4.55) == [2.0, 2.1, 3.2, 4.3, 4.4, 4.5]
    assert len(update_times(records, 2.05, 4.05, "b")) == 20
    assert {round(r["compute"], 6) for r in records if r["what"] == "update"} == {0.1}
    lag, on = (r for r in records if "begins" in r)
    assert (lag["what"], lag["at"], lag["setting"]) == ("lag", 2.05, {"delay": {"fixed": 1.0}})
    assert (on["what"], on["at"], on["fault"]) == ("catch_up", 4.05, "straggler")
    assert "setting" not in on


def test_each_wait_is_a_draw_from_a_stream_of_the_boot(tmp_path: Path) -> None:
    law = "kind: straggler, nodes: [a], delay: {uniform: [200ms, 900ms]}, at: 0s"
    records = world(tmp_path, law, "kind: crash, nodes: [a], at: 6s, lasts: 1s")
    first, second = Random(chance.lag(5, "a", 0)), Random(chance.lag(5, "a", 1))
    expected = [0.1]  # its first gradient begins with the hello, before the run's zero
    for begin, end, rng in ((0.1, 6.0, first), (7.25, 12.0, second)):
        at = begin
        while (at := at + rng.uniform(0.2, 0.9) + 0.1) < end:
            expected.append(at)
    assert update_times(records, 0.05, 12.0) == pytest.approx(expected, abs=1e-5)


def test_a_wait_goes_on_while_the_device_is_paused(tmp_path: Path) -> None:
    """The wait of 2.1 s to 3.1 s is over by the time when a pause of 2.5 s to 3.5 s ends."""
    lag = f"{LAG}, at: 2.05s, lasts: 3s"
    records = world(tmp_path, lag, "kind: pause, nodes: [a], at: 2.5s, lasts: 1s")
    assert update_times(records, 2.05, 4.75) == [2.1, 3.6, 4.7]
    records = world(tmp_path, lag, "kind: pause, nodes: [a], at: 2.2s, lasts: 500ms")
    assert update_times(records, 2.05, 4.35) == [2.1, 3.2, 4.3]


def test_one_with_another_delay_takes_over_at_the_end_of_the_first(tmp_path: Path) -> None:
    records = world(
        tmp_path,
        f"{LAG}, at: 2.05s, lasts: 2s",
        "kind: straggler, nodes: [a], delay: 300ms, at: 3s, lasts: 2s",
    )
    assert update_times(records, 2.05, 5.55) == [2.1, 3.2, 4.3, 4.7, 5.1, 5.2, 5.3, 5.4, 5.5]
    struck = [(r["what"], r["at"]) for r in records if "begins" in r]
    assert struck == [("lag", 2.05), ("catch_up", 4.05), ("lag", 4.05), ("catch_up", 5.0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "training",
    [
        "training.schedule=layer-by-layer",
        "training.fully_connected={place: {after: 1}}",
        "training.synchronization={kind: local-sgd, steps: 2, patience: 10s}",
    ],
)
def test_workers_of_every_form_wait_once_an_iteration(tmp_path: Path, training: str) -> None:
    layers = "virtual.layers={forward: [2, 1, 1], backward: [4, 1, 1]}"
    few = "training.batch_size=400"
    runs = {}
    for faults in ((), (f"{LAG}, at: 0s",)):
        records = world(tmp_path, *faults, overrides=(training, layers, few, "virtual.serve=0s"))
        times = update_times(records, 0.05, 12.0)
        runs[faults] = (times[-1] - times[0]) / (len(times) - 1)
    calm, lagging = runs.values()
    assert lagging == pytest.approx(calm + 1.0, abs=0.11)


def test_a_drawn_straggler_waits_from_the_next_gradient_on(tmp_path: Path) -> None:
    drawn = "[{name: mine, faults: [{kind: straggler, per_iteration: 100%, delay: 1s, lasts: 2s}]}]"
    overrides = (f"devices[0].failures={drawn}",)
    records = world(tmp_path, "kind: pause, nodes: [b], at: 1s, lasts: 1s", overrides=overrides)
    lags = [r["at"] for r in records if r["what"] == "lag"]
    assert lags[0] == 0.0  # drawn before the first gradient, which does not wait any more
    assert update_times(records, -1, 2.4) == [0.1, 1.2, 2.3]
