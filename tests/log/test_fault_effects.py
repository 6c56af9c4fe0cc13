"""Effects of faults, each number worked out by hand."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.log import flow
from emulator.log.flow import FlowSums
from emulator.log.verdicts import fault_effects
from emulator.log.verdicts.fault_effects import FaultEffects
from tests.fakes.plain_records import PlainRecord, full

PUSH = {"values": 40, "indices": 15, "headers": 30, "framing": 15}


def effects(records: list[PlainRecord]) -> dict[str, Any]:
    sums = FaultEffects()
    for record in map(full, sorted(records, key=lambda record: record["at"])):
        sums.take(record)
    return sums.plain()


def update(at: float, node: str = "a") -> PlainRecord:
    return {"at": at, "what": "update", "node": node, **PUSH}


def act(at: float, what: str, fault: str, planned: float, **facts: Any) -> PlainRecord:
    begins = what not in ("boot", "reboot", "mend", "unthrottle")
    return {
        "at": at,
        "what": what,
        "node": "a",
        "fault": fault,
        "begins": begins,
        "planned": planned,
        **facts,
    }


STOP = {"at": 30.0, "what": "stop", "reason": "time"}
RUN = [
    # ten updates a second, five while the fault lasts from 10 s to 14 s, then ten again
    *(update(0.05 + number / 10) for number in range(100)),
    *(update(10.1 + number / 5) for number in range(20)),
    *(update(14.05 + number / 10) for number in range(160)),
    {"at": 9.0, "what": "pull", "node": "a", "bytes": 400},
    {"at": 9.0, "what": "pull", "node": "evaluator", "bytes": 9999},
    *(
        {"at": at, "what": "evaluation", "accuracy": score, "version": 1, "updates": 1}
        for at, score in ((0.0, 0.1), (5.0, 0.5), (12.0, 0.4), (16.0, 0.6), (25.0, 0.9))
    ),
    act(10.0, "kill", "crash", 9.9),
    act(14.0, "boot", "crash", 14.0),
    STOP,
]


def test_rates_before_during_and_after_a_fault() -> None:
    found = effects(RUN)
    (effect,) = found["faults"]
    assert effect == {
        "kind": "crash",
        "node": "a",
        "planned": 9.9,
        "at": 10.0,
        "until": 14.0,
        "updates_per_s": {"before": 10.0, "during": 5.0, "after": 10.0},
        "push_bytes_per_s": {"before": 1000.0, "during": 500.0, "after": 1000.0},
        "pull_bytes_per_s": {"before": 100.0, "during": 0.0, "after": 0.0},
        "accuracy": {"before": 0.5, "during": 0.4, "after": 0.6},
    }
    assert found["unlisted"] == 0
    assert found["kinds"]["crash"] == {
        "count": 1,
        "devices": 1,
        "seconds": 4.0,
        "latest_s": 0.1,
        **{key: value for key, value in effect.items() if key.endswith("_per_s")},
    }


def test_a_fault_that_goes_on_after_a_resumption_counts_once() -> None:
    again = [act(at, "kill", "crash", at, again=True) for at in (11.0, 13.0)]
    assert effects([*RUN, *again]) == effects(RUN)


def test_updates_that_a_crash_of_the_server_lost_do_not_count() -> None:
    crash = [{**act(15.0, "kill", "server-crash", 15.0), "node": "server"}]
    crash.append({**act(16.0, "boot", "server-crash", 16.0), "node": "server"})
    lost = {"at": 15.5, "what": "recovered", "version": 104, "lost": 25, "zero": 1.0}
    found = effects([record for record in RUN if not 15.0 < record["at"] < 16.0] + crash + [lost])
    first, second = found["faults"]
    # of the ten updates since 14 s and the twenty since 10 s the last 25 are lost
    assert second["updates_per_s"]["before"] == 0.0
    assert first["updates_per_s"]["before"] == 10.0
    assert first["updates_per_s"]["during"] == pytest.approx(5 / 4)
    # ten pushes of 100 bytes in the 0.95 s since the device that crashed has made an update
    assert second["push_bytes_per_s"]["before"] == 1052.632


def test_a_fault_without_an_end_lasts_to_the_runs_end_and_has_nothing_after_it() -> None:
    records = [record for record in RUN if record["what"] != "boot"]
    (effect,) = effects(records)["faults"]
    assert effect["until"] is None
    assert effect["updates_per_s"] == {"before": 10.0, "during": 9.0, "after": None}


def test_a_fault_at_the_beginning_has_nothing_before_it() -> None:
    (effect,) = effects([act(0.0, "sever", "partition", 0.0), update(0.5), STOP])["faults"]
    assert effect["updates_per_s"]["before"] is None
    assert effect["accuracy"]["before"] is None


def test_sums_of_a_kind_weigh_each_window_by_its_length() -> None:
    more = [act(20.0, "kill", "crash", 20.0), act(21.0, "boot", "crash", 21.0)]
    kind = effects([*RUN, *more])["kinds"]["crash"]
    assert (kind["count"], kind["seconds"]) == (2, 5.0)
    assert kind["updates_per_s"]["during"] == (20 + 10) / 5


def test_a_setting_is_told_and_kinds_stay_apart() -> None:
    slow = act(3.0, "throttle", "slow", 3.0, setting={"factor": 0.5})
    found = effects([*RUN, slow])
    assert list(found["kinds"]) == ["slow", "crash"]
    assert found["faults"][0]["setting"] == {"factor": 0.5}


def test_without_a_fault_there_is_nothing_to_tell() -> None:
    assert effects([update(1.0), STOP]) == {}


def test_many_faults_are_counted_and_few_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_effects, "LISTED", 2)
    monkeypatch.setattr(fault_effects, "MOST_FAULTS", 3)
    records = [STOP]
    for number in range(5):
        records += [
            act(2.0 * number, "kill", "crash", 2.0 * number),
            act(2.0 * number + 1, "boot", "crash", 2.0 * number + 1),
        ]
    found = effects(records)
    assert (len(found["faults"]), found["unlisted"]) == (2, 3)
    assert found["kinds"]["crash"]["count"] == 5
    assert found["kinds"]["crash"]["seconds"] == 3.0


@given(
    st.lists(st.tuples(st.floats(0, 500), st.integers(1, 9)), max_size=40),
    st.floats(0, 500),
    st.floats(0, 500),
)
def test_a_flow_keeps_its_sums_when_intervals_are_joined(
    drops: list[tuple[float, int]], one: float, other: float
) -> None:
    begin, end = sorted((one, other))
    sums = FlowSums(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "_MOST", 64)
        patch.setattr(flow, "_EXACT", 2)
        random.Random(1).shuffle(drops)
        for at, amount in drops:
            sums.add(at, (amount,))
        width = sums._width
        (found,) = sums.between(begin, end)
        (whole,) = sums.between(0, 1000)
    assert whole == pytest.approx(sum(amount for _, amount in drops))
    inner = sum(amount for at, amount in drops if begin + width <= at < end - width)
    outer = sum(amount for at, amount in drops if begin - width <= at < end + width)
    assert inner - 1e-6 <= found <= outer + 1e-6


def test_a_short_window_counts_each_update_once() -> None:
    """Updates of a step come at one moment, also at the one at which a fault begins or ends."""
    steps = [update(0.5 * number, node) for number in range(1, 21) for node in "abc"]
    fault = [act(5.0, "sever", "partition", 5.0), act(6.0, "mend", "partition", 6.0)]
    stop = {"at": 10.0, "what": "stop", "reason": "updates"}
    (effect,) = effects([*steps, *fault, stop])["faults"]
    assert effect["updates_per_s"] == {"before": 6.0, "during": 6.0, "after": 6.0}
    late = [act(8.996, "sever", "partition", 8.996)]
    (effect,) = effects([*steps, *late, stop])["faults"]
    # from 9 s, with the last step at the end: three steps in 1.004 s
    assert effect["updates_per_s"]["during"] == round(9 / 1.004, 3)
    assert effect["updates_per_s"]["before"] == round(6 / 1.004, 3)


def test_lost_updates_leave_exact_sums_too() -> None:
    sums = FlowSums(2)
    for at in (1.0, 2.0, 3.0):
        sums.add(at, (1, 10))
    sums.take_back(0, 2)
    assert sums.between(0, 4) == [1, 30] and sums.between(1.5, 4) == [0, 20]


def test_a_drawn_fault_is_planned_to_the_microsecond() -> None:
    drawn = act(2.0, "sever", "partition", 2.0000001234)
    (effect,) = effects([drawn, STOP])["faults"]
    assert effect["planned"] == 2.0


def test_crashes_with_and_without_state_end_each_with_its_own_boot() -> None:
    records = [
        act(10.0, "kill", "crash", 10.0),
        act(12.0, "halt", "crash", 12.0),
        act(13.0, "reboot", "crash", 13.0),
        act(16.0, "boot", "crash", 16.0),
        STOP,
    ]
    found = effects(records)
    assert [(each["at"], each["until"]) for each in found["faults"]] == [(10.0, 16.0), (12.0, 13.0)]
    assert found["kinds"]["crash"]["seconds"] == 7.0


# ten updates a second while no fault holds a device, five while one does, two while two do
SEVERAL = {
    # kinds and times of faults; then the rates before and after each, in the same order
    "one ends as the other begins": (
        [("crash", 15.0, 25.0), ("partition", 25.0, 35.0)],
        [(10.0, None), (None, 10.0)],
    ),
    "the other lies in half of the time before": (
        [("crash", 15.0, 25.0), ("partition", 30.0, 40.0)],
        [(10.0, 10.0), (10.0, 10.0)],
    ),
    "one within the other": (
        [("partition", 20.0, 40.0), ("crash", 25.0, 30.0)],
        [(10.0, 10.0), (None, None)],
    ),
    "both at one time": (
        [("partition", 20.0, 30.0), ("slow", 20.0, 30.0)],
        [(10.0, 10.0), (10.0, 10.0)],
    ),
    "one for good": (
        [("crash", 20.0, None), ("partition", 30.0, 35.0)],
        [(10.0, None), (None, None)],
    ),
    "of two devices of one kind": (
        [("crash", 10.0, 20.0), ("crash", 18.0, 22.0)],
        [(10.0, 10.0), (None, 10.0)],
    ),
    "less than a tenth is left": (
        [("crash", 10.0, 19.5), ("partition", 20.0, 30.0)],
        [(10.0, None), (None, 10.0)],
    ),
}
VERBS = {
    "crash": ("kill", "boot"),
    "partition": ("sever", "mend"),
    "slow": ("throttle", "unthrottle"),
}


@pytest.mark.parametrize("faults, expected", SEVERAL.values(), ids=SEVERAL)
def test_seconds_in_which_another_fault_holds_a_device_are_no_comparison(
    faults: list[tuple[str, float, float | None]],
    expected: list[tuple[float | None, float | None]],
) -> None:
    records: list[PlainRecord] = []
    for number, (fault, begin, end) in enumerate(faults):
        begins, ends = VERBS[fault]
        records.append({**act(begin, begins, fault, begin), "node": f"n-{number}"})
        if end is not None:
            records.append({**act(end, ends, fault, end), "node": f"n-{number}"})
    for tick in range(600):
        at = 0.05 + tick / 10
        holding = sum(begin <= at < (end or 60.0) for _, begin, end in faults)
        every = (1, 2, 5)[holding]
        records += [update(at, f"n-{tick // 10 % len(faults)}")] * (tick % every == 0)
    found = effects([*records, {"at": 60.0, "what": "stop", "reason": "time"}])
    rates = [each["updates_per_s"] for each in found["faults"]]
    # a part of a window may have an update more or less
    assert [(each["before"], each["after"]) for each in rates] == [
        tuple(None if rate is None else pytest.approx(rate, abs=0.3) for rate in pair)
        for pair in expected
    ]
    for each in rates:
        assert all(each["during"] < rate for rate in (each["before"], each["after"]) if rate)


def recovering(fault: str, node: str, back: float | None) -> list[PlainRecord]:
    """Ten updates a second but from 10 s to `back`, where there are four; then a partition.

    The fault lasts from 10 s to 14 s; `node` is the device or the server. Its first update after
    10 s comes at `back`, if one does.
    """
    begins, ends = VERBS[fault]
    records: list[PlainRecord] = [
        {**act(10.0, begins, fault, 10.0), "node": node},
        {**act(14.0, ends, fault, 14.0), "node": node},
        {**act(30.0, "sever", "partition", 30.0), "node": "other"},
        {**act(50.0, "mend", "partition", 50.0), "node": "other"},
        {"at": 60.0, "what": "stop", "reason": "time"},
    ]
    for tick in range(600):
        at = tick / 10 + 0.05
        held = 10.0 <= at < (60.0 if back is None else back)
        if node != "server" or not held:
            records += [update(at, "other")] * (not held or tick % 5 in (0, 2))
    return records if back is None else [*records, update(back, node)]


BACK = {"crash": 22.0, "partition": 18.0, "slow": 18.0}
"""When the device makes its first update: 8 s after a crash of 4 s, 4 s after another fault."""


@pytest.mark.parametrize("fault", VERBS)
def test_a_fault_holds_its_device_until_the_device_makes_an_update(fault: str) -> None:
    first, second = effects(recovering(fault, "a", back=BACK[fault]))["faults"]
    # of 10 s to 30 s, the time from then on is left
    assert second["updates_per_s"]["before"] == pytest.approx(10.0, abs=0.2)
    # its own recovery is an effect of it: 18 s, of which no second is without the fault
    assert first["updates_per_s"]["after"] == pytest.approx(4.0, abs=0.3)


def test_a_device_that_makes_no_update_for_a_minute_is_held_no_longer() -> None:
    records = recovering("crash", "a", back=None)
    (_, second) = effects(records)["faults"]
    assert second["updates_per_s"]["before"] is None
    late = [{**record, "at": record["at"] + 90.0} for record in records if record["at"] >= 30.0]
    early = [record for record in records if record["at"] < 30.0]
    times = [*early, *late, *(update(60.0 + tick / 10, "other") for tick in range(600))]
    effect = effects(times)["faults"][-1]
    assert effect["updates_per_s"]["before"] == pytest.approx(10.0, abs=0.5)


def test_any_update_shows_that_the_server_is_back() -> None:
    first, second = effects(recovering("crash", "server", back=22.0))["faults"]
    assert second["updates_per_s"]["before"] == pytest.approx(10.0, abs=0.2)
    assert first["updates_per_s"]["after"] == 0.0


def lasting(fault: str, node: str, begin: float, end: float) -> list[PlainRecord]:
    begins, ends = VERBS[fault]
    return [
        {**act(begin, begins, fault, begin), "node": node},
        {**act(end, ends, fault, end), "node": node},
    ]


def flowing(seconds: int, rate: Callable[[float], float]) -> list[PlainRecord]:
    """Pulls of `rate` bytes a second by a device without faults, and the run's end."""
    pulls = [
        {"at": second + 0.5, "what": "pull", "node": "calm", "bytes": rate(second + 0.5)}
        for second in range(seconds)
    ]
    return [*pulls, {"at": float(seconds), "what": "stop", "reason": "time"}]


def lowered(
    faults: list[tuple[str, str, float, float]], seconds: int, rate: Callable[[float], float]
) -> dict[str, Any]:
    """Effects of `faults`, each of which lowers the `rate` by a fifth while it holds a device."""

    def left(at: float) -> float:
        return rate(at) * 0.8 ** sum(begin <= at < end for _, _, begin, end in faults)

    records = [record for fault in faults for record in lasting(*fault)]
    return effects([*records, *flowing(seconds, left)])


def test_the_rates_of_a_kind_are_those_of_the_same_faults() -> None:
    """The rate doubles after 60 s, and only the first partition has time before it."""
    faults = [
        ("partition", "a", 20.0, 30.0),
        ("crash", "b", 90.0, 100.0),
        ("partition", "a", 101.0, 111.0),
    ]
    found = lowered(faults, 160, lambda at: 1000 if at < 60 else 2000)
    kinds = found["kinds"]
    assert kinds["partition"]["pull_bytes_per_s"] == {
        "before": 1000.0,
        "during": 800.0,
        "after": 1000.0,
    }
    assert (kinds["partition"]["count"], kinds["partition"]["compared"]) == (2, 1)
    assert kinds["partition"]["seconds"] == 20.0
    assert "compared" not in kinds["crash"]
    assert found["faults"][2]["pull_bytes_per_s"]["before"] is None
    assert found["faults"][2]["pull_bytes_per_s"]["during"] == 1600.0


def test_a_kind_weighs_a_fault_alike_in_all_windows() -> None:
    """Of the time before the early fault much is left, of that before the late one little."""
    faults = [
        ("partition", "a", 40.0, 50.0),
        ("slow", "b", 182.0, 185.0),
        ("partition", "a", 190.0, 200.0),
    ]
    for early, late in ((1000, 2000), (2000, 1000)):
        found = lowered(faults, 240, lambda at: early if at < 100 else late)  # noqa: B023
        rates = found["kinds"]["partition"]["pull_bytes_per_s"]
        assert rates == {"before": 1500.0, "during": 1200.0, "after": 1500.0}


def test_a_kind_none_of_whose_faults_can_be_compared_has_no_rates() -> None:
    found = lowered([("partition", "a", 0.0, 5.0)], 30, lambda at: 1000)
    kind = found["kinds"]["partition"]
    assert (kind["count"], kind["compared"]) == (1, 0)
    none = {"before": None, "during": None, "after": None}
    assert kind["pull_bytes_per_s"] == kind["updates_per_s"] == none
    assert found["faults"][0]["pull_bytes_per_s"]["during"] == 800.0


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1000, 2000, 4000]),
            st.lists(
                st.tuples(st.sampled_from([*VERBS]), st.integers(-10, 10), st.integers(1, 20)),
                max_size=4,
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_fault_that_lowers_every_rate_never_helps(
    hours: list[tuple[int, list[tuple[str, int, int]]]],
) -> None:
    """Whatever the rate is in a stretch of 200 s, and whatever faults are in the midst of it."""
    faults = [
        (fault, f"n-{number}", 200.0 * place + 100 + shift, 200.0 * place + 100 + shift + lasts)
        for place, (_, own) in enumerate(hours)
        for number, (fault, shift, lasts) in enumerate(own)
    ]
    found = lowered(faults, 200 * len(hours), lambda at: hours[int(at // 200)][0])
    for each in [*found.get("kinds", {}).values(), *found.get("faults", [])]:
        rates = each["pull_bytes_per_s"]
        for window in ("before", "after"):
            assert rates[window] is None or rates["during"] < rates[window]


def test_devices_that_need_not_push_hold_nothing_for_longer_than_their_fault() -> None:
    """In a round of 5 s ten of 100 devices make an update; 25 are cut off for 2 s each."""
    faults = [("partition", f"n-{99 - 3 * place}", 20.0 + 11 * place) for place in range(25)]
    records = [
        record
        for fault, node, begin in faults
        for record in lasting(fault, node, begin, begin + 2.0)
    ]
    records += [
        update(5.0 * number + 4.9, f"n-{(10 * number + place) % 100}")
        for number in range(64)
        for place in range(10)
    ]
    stop = {"at": 320.0, "what": "stop", "reason": "time"}
    found = effects([*records, stop])
    rates = [each["updates_per_s"] for each in found["faults"]]
    assert all(rate["before"] is not None for rate in rates)
    assert "compared" not in found["kinds"]["partition"]


@pytest.mark.parametrize("what", ["hello", "pull", "update", "activations"])
@pytest.mark.parametrize("fault", VERBS)
def test_a_fault_holds_its_device_until_the_server_has_any_word_of_it(
    fault: str, what: str
) -> None:
    facts: dict[str, dict[str, Any]] = {
        "hello": {"incarnation": 1},
        "pull": {"bytes": 0},
        "update": PUSH,
        "activations": {"up": 0, "down": 0, "rows": 1},
    }
    word = {"at": 32.0, "what": what, "node": "a", **facts[what]}
    records = [*lasting(fault, "a", 20.0, 30.0), word, *lasting("partition", "b", 40.0, 50.0)]
    second = effects([*records, *flowing(80, lambda at: 500 if 20 <= at < 32 else 1000)])["faults"][
        1
    ]
    assert second["pull_bytes_per_s"]["before"] == 1000.0


@pytest.mark.parametrize("pushed, before", [(34.0, 1100.0), (None, 1000.0)])
def test_the_model_that_a_device_pulls_when_it_has_booted_is_part_of_its_recovery(
    pushed: float | None, before: float
) -> None:
    """The device says hello after 3 s; it is held for 3 s more, or until it pushes."""
    records: list[PlainRecord] = [
        *lasting("crash", "a", 20.0, 30.0),
        {"at": 33.0, "what": "hello", "node": "a", "incarnation": 1},
        {"at": 33.1, "what": "pull", "node": "a", "bytes": 100_000},
        *([] if pushed is None else [update(pushed, "a")]),
        {"at": 35.0, "what": "pull", "node": "calm", "bytes": 600},
        *lasting("partition", "b", 40.0, 50.0),
    ]
    _, second = effects([*records, *flowing(80, lambda at: 1000)])["faults"]
    assert second["pull_bytes_per_s"]["before"] == before


@pytest.mark.parametrize("fault", VERBS)
def test_devices_of_one_fault_are_no_other_fault_to_each_other(fault: str) -> None:
    """Both are held alike; one makes its update a second after the fault, the other after 9 s."""
    records = [record for node in "ab" for record in lasting(fault, node, 20.0, 30.0)] + [
        update(31.0, "a"),
        update(39.0, "b"),
    ]
    flow = flowing(80, lambda at: 1000 if not 20 <= at < 39 else 500)
    first, second = effects([*records, *flow])["faults"]
    expected = {"before": 1000.0, "during": 500.0, "after": 550.0}
    assert first["pull_bytes_per_s"] == second["pull_bytes_per_s"] == expected


def test_a_fault_that_outlasts_another_of_its_kind_is_another_fault() -> None:
    records = [
        *lasting("crash", "a", 20.0, 30.0),
        *lasting("crash", "b", 20.0, 60.0),
        update(30.0, "a"),
        update(60.0, "b"),
    ]
    first, _ = effects([*records, *flowing(80, lambda at: 1000)])["faults"]
    assert first["pull_bytes_per_s"] == {"before": 1000.0, "during": 1000.0, "after": None}


def test_activations_count_with_a_cut_model_only() -> None:
    fault = lasting("partition", "a", 20.0, 30.0)
    found = effects([*fault, *flowing(80, lambda at: 1000)])
    assert "activation_bytes_per_s" not in found["kinds"]["partition"]
    passes = [
        {"at": at + 0.5, "what": "activations", "node": "b", "up": 60, "down": 40, "rows": 1}
        for at in range(80)
        if not 20 <= at < 30
    ]
    found = effects([*fault, *passes, *flowing(80, lambda at: 1000)])
    rates = {"before": 100.0, "during": 0.0, "after": 100.0}
    assert found["kinds"]["partition"]["activation_bytes_per_s"] == rates
    assert found["faults"][0]["activation_bytes_per_s"] == rates
