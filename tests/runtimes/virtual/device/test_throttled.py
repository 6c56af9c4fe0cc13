"""Devices whose CPU quota changes, in virtual time: work under way ends when it should."""

from copy import copy
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from emulator.world.cpu_quota import LEAST, PERIOD, Quota, throttled
from tests.fakes.plain_records import PlainRecord
from tests.fakes.virtual.struck_world import struck, update_times

WORLD = """
# Does a slow device take longer?
name: throttled
seed: 5
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}
stop: {time: 12s}
virtual: {learner: none, step: 400ms, boot: 250ms, tcp: false}
devices:
  - {name: a}
  - {name: b, profile: {cpu: 50%}}
"""
SLOW = "kind: slow, factor: 25%"


def world(tmp_path: Path, *faults: str, overrides: tuple[str, ...] = ()) -> list[PlainRecord]:
    return struck(tmp_path, WORLD, faults, overrides)


def test_work_under_way_is_slowed_down_and_sped_up(tmp_path: Path) -> None:
    """A quarter of a core is 25 ms at full speed in each 100 ms, the first at once."""
    records = world(tmp_path, f"{SLOW}, nodes: [a], at: 2.2s, lasts: 2.1s")
    # Of the step from 2.0 s on, 200 ms are left at 2.2 s: eight budgets, the last from 2.9 s on.
    # Sixteen budgets from 3.0 s on would end at 4.525 s. At 4.3 s, 325 ms are done, 75 ms left.
    assert update_times(records, 1.9, 5.0) == [2.0, 2.925, 4.375, 4.775]
    slow, own = (r for r in records if "begins" in r)
    assert (slow["what"], slow["at"], slow["setting"]) == ("throttle", 2.2, {"factor": 0.25})
    assert (own["what"], own["at"], own["fault"]) == ("unthrottle", 4.3, "slow")


def test_a_device_with_a_quota_of_its_own_has_a_share_of_that(tmp_path: Path) -> None:
    """Half a core is 50 ms at full speed in each 100 ms, and a fifth of that is 10 ms."""
    records = world(tmp_path, "kind: slow, factor: 20%, nodes: [b], at: 2.42s, lasts: 3s")
    # Of the step from 2.35 s on, 20 ms are done at 2.42 s. A budget of 10 ms at once, thirty from
    # 2.5 s to 5.41 s: at 5.42 s there are 70 ms left, of which 50 ms are done at once.
    assert update_times(records, 0.5, 6.0, "b") == [0.75, 1.55, 2.35, 5.52]


def test_a_pause_does_not_count_as_work(tmp_path: Path) -> None:
    """Of the step from 2.0 s on, 100 ms are done at 2.1 s, and 300 ms are left at 3.1 s."""
    pause = "kind: pause, nodes: [a], at: 2.1s, lasts: 1s"
    for at in ("2.5s", "3.1s"):
        records = world(tmp_path, pause, f"{SLOW}, nodes: [a], at: {at}, lasts: 9s")
        # twelve budgets of 25 ms, one at the beginning of each period
        (first,) = update_times(records, 2.05, 4.35)
        assert first == pytest.approx(4.225, abs=0.101)


def test_a_boot_is_slowed_down_too(tmp_path: Path) -> None:
    crash = "kind: crash, nodes: [a], at: 2s, lasts: 1s"
    records = world(tmp_path, crash, f"{SLOW}, nodes: [a], at: 3.1s")
    (_, hello) = (r["at"] for r in records if r["what"] == "hello" and r["node"] == "a")
    assert hello == pytest.approx(3.625, abs=1e-6)  # 150 ms are left at 3.1 s: six budgets


def test_a_device_that_boots_while_it_is_slow_is_still_slow(tmp_path: Path) -> None:
    crash = "kind: crash, nodes: [a], at: 3s, lasts: 1s"
    records = world(tmp_path, f"{SLOW}, nodes: [a], at: 2s", crash)
    (_, hello) = (r["at"] for r in records if r["what"] == "hello" and r["node"] == "a")
    assert hello == pytest.approx(4.925, abs=1e-6)  # 250 ms are ten budgets


@pytest.mark.parametrize(
    "training", ["training.schedule=layer-by-layer", "training.fully_connected={place: {after: 1}}"]
)
def test_passes_through_layers_are_slowed_down_like_whole_ones(
    tmp_path: Path, training: str
) -> None:
    layers = "virtual.layers={forward: [2, 1, 1], backward: [4, 1, 1]}"
    fault = f"{SLOW}, nodes: [a], at: 2.13s, lasts: 6s"
    records = world(tmp_path, fault, overrides=(training, layers, "virtual.serve=0s"))
    calm = update_times(records, 0.5, 2.1)
    slow, again = update_times(records, 2.2, 8.1), update_times(records, 8.6, 12.0)
    step, computed = calm[1] - calm[0], min(r["compute"] for r in records if r["what"] == "update")
    assert len(slow) == pytest.approx(6 / (step + 3 * computed), abs=1)
    assert again[1] - again[0] == pytest.approx(step, abs=1e-6)


SHARES = st.floats(0.01, 1.0)
WORK = st.floats(0.001, 1.0)


@given(SHARES, st.floats(0, 0.5), WORK, st.floats(0, 1))
def test_the_work_left_is_the_work_less_the_work_done(
    share: float, began: float, work: float, part: float
) -> None:
    quota = Quota(share)
    began = quota.finish(0.0, began)  # a budget that is spent in part
    other = copy(quota)
    end, now = quota.finish(began, work), other.finish(began, part * work)
    left = quota.remaining(began, work, end, now)
    assert left == pytest.approx((1 - part) * work, abs=1e-9)
    assert quota.remaining(began, work, end, end) == pytest.approx(0.0, abs=1e-9)
    assert quota.remaining(began, work, end, began) == pytest.approx(work, abs=1e-9)


@given(SHARES, WORK, st.floats(0, 1))
def test_work_left_shrinks_with_time_and_no_faster_than_it(
    share: float, work: float, part: float
) -> None:
    quota = Quota(share)
    end = quota.finish(0.0, work)
    times = [end * part * number / 20 for number in range(21)]
    left = [quota.remaining(0.0, work, end, at) for at in times]
    for before, after, step in zip(left, left[1:], [end * part / 20] * 20, strict=False):
        assert -1e-9 <= before - after <= step + 1e-9


@given(SHARES, SHARES, st.floats(0, 2))
def test_a_change_gives_a_whole_budget_at_once(old: float, new: float, now: float) -> None:
    assume(abs(now / PERIOD - round(now / PERIOD)) > 1e-6)
    quota = Quota(old)
    quota.finish(0.0, now)
    quota.change(now, new)
    left = (int(now // PERIOD) + 1) * PERIOD - now  # of the period
    work = min(new * PERIOD, left) * 0.999
    assert quota.finish(now, work) == pytest.approx(now + work)


def test_a_device_keeps_a_share_of_its_own_quota_or_of_a_core() -> None:
    assert throttled(None, 0.25) == 0.25
    assert throttled(0.5, 0.5) == 0.25
    assert throttled(2.0, 0.25) == 0.5
    assert throttled(0.2, 0.01) == LEAST
