"""The verdicts on links, from records that are made up."""

import random
from typing import Any

import pytest

from emulator.log.fidelity_records import LinkRecord
from emulator.log.link_fidelity import (
    BURSTS,
    HELD,
    IDLE,
    UNHEARD,
    LinkFidelity,
    missed,
    weighted_median,
)
from tests.log.test_summary import summary


def _row(*records: dict[str, Any], cause: str = "") -> dict[str, Any]:
    links = LinkFidelity()
    for facts in records:
        links.take(LinkRecord(10.0, "far", "up", 10.0, **facts))
    (row,) = links.rows(cause)
    return row


def _rated(rate: float, busy: float = 1.0) -> dict[str, Any]:
    return {"busy": busy, "rate": rate, "requested_rate": 8e6}


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [(7.83e6, "missed"), (7.85e6, "kept"), (8.15e6, "kept"), (8.17e6, "missed")],
)
def test_a_rate_is_kept_within_two_per_cent(rate: float, verdict: str) -> None:
    row = _row(_rated(rate))
    assert row["rate"] == {
        "requested": 8_000_000,
        "achieved": round(rate),
        "busy_s": 1.0,
        "verdict": verdict,
    }
    assert row["verdict"] == verdict


def test_a_short_disturbance_spoils_no_rate() -> None:
    assert _row(_rated(8e6, 5.0), _rated(2e6, 1.0))["verdict"] == "kept"
    assert _row(_rated(8e6, 1.0), _rated(2e6, 5.0))["verdict"] == "missed"


def test_an_idle_sender_is_not_judged() -> None:
    row = _row({"requested_rate": 8e6})
    assert (row["verdict"], row["reason"]) == ("not judged", f"rate not judged: {IDLE}")
    assert row["rate"]["achieved"] is None


def test_a_kept_delay_leaves_a_rate_unjudged() -> None:
    row = _row({"requested_rate": 8e6, **_late(0.05)})
    assert (row["verdict"], row["reason"]) == ("kept", f"rate not judged: {IDLE}")


def _late(delay: float, count: int = 100, jitter: float = 0.0, **more: Any) -> dict[str, Any]:
    facts = {"echoes": count, "delay": delay, "jitter": jitter, "requested_delay": 0.05}
    return {**facts, **more}


@pytest.mark.parametrize(
    ("delay", "verdict"),
    [(0.0519, "kept"), (0.0521, "missed"), (0.0481, "kept"), (0.047, "missed")],
)
def test_a_delay_is_kept_within_a_millisecond_and_two_per_cent(delay: float, verdict: str) -> None:
    assert _row(_late(delay))["delay"]["verdict"] == verdict


@pytest.mark.parametrize(("count", "late", "verdict"), [(9, 1, "kept"), (9, 2, "missed")])
def test_a_single_late_echo_is_chance(count: int, late: int, verdict: str) -> None:
    row = _row(_late(0.05, count + 1, late=late))
    assert row["delay"]["verdict"] == verdict
    assert bool(missed([row])) is (verdict == "missed")


def test_chance_is_no_miss() -> None:
    """Ten echoes with a deviation of 5 ms have a mean that is off by some milliseconds."""
    few = _row(_late(0.0545, 10, 0.005, requested_jitter=0.005))
    many = _row(_late(0.0545, 1000, 0.005, requested_jitter=0.005))
    assert (few["delay"]["verdict"], many["delay"]["verdict"]) == ("kept", "missed")
    assert _row(_late(0.0545, 10, 0.005))["delay"]["verdict"] == "missed"  # no jitter was asked for


def test_many_late_echoes_are_a_miss() -> None:
    assert _row(_late(0.05, 100, late=5))["delay"]["verdict"] == "kept"
    assert _row(_late(0.05, 100, late=7))["delay"]["verdict"] == "missed"


def test_a_delay_of_which_every_echo_came_late_is_missed() -> None:
    row = _row({"requested_delay": 0.05, "late": 10})
    facts = {"requested": 0.05, "achieved": None, "echoes": 0, "late": 10, "verdict": "missed"}
    assert row["delay"] == facts
    assert missed([row])
    assert _row({"requested_delay": 0.05, "late": 9})["reason"] == f"delay not judged: {UNHEARD}"


@pytest.mark.parametrize("late", range(13))
@pytest.mark.parametrize("echoes", range(13))
def test_few_echoes_are_judged_only_by_those_that_came_too_late(echoes: int, late: int) -> None:
    row = _row({**_late(0.05, echoes), "late": late} if echoes else _silent(late))
    enough, single = echoes + late >= 10, late <= 1
    word = "not judged" if not enough or (single and echoes < 10) else "missed"
    assert row["delay"]["verdict"] == ("kept" if single and echoes >= 10 else word)
    assert bool(missed([row])) is (row["delay"]["verdict"] == "missed")


def _silent(late: int) -> dict[str, Any]:
    return {"requested_delay": 0.05, "late": late}


@pytest.mark.parametrize(("jitter", "verdict"), [(0.00135, "kept"), (0.0016, "missed")])
def test_a_short_jitter_bears_the_waits_of_a_host(jitter: float, verdict: str) -> None:
    row = _row(_late(0.05, 5000, jitter, requested_jitter=0.001))
    assert row["jitter"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("jitter", "verdict"),
    [(0.0053, "kept"), (0.0045, "kept"), (0.0059, "missed"), (0.004, "missed")],
)
def test_a_jitter_is_kept_within_ten_per_cent(jitter: float, verdict: str) -> None:
    row = _row(_late(0.05, 5000, jitter, requested_jitter=0.005))
    assert row["jitter"]["verdict"] == verdict


def test_windows_add_up() -> None:
    """The deviation of all echoes is that of the windows, and of their means."""
    draw = random.Random(3)
    windows = [[draw.gauss(0.05, 0.005) for _ in range(20)] for _ in range(50)]
    records = []
    for window in windows:
        mean = sum(window) / 20
        deviation = (sum((delay - mean) ** 2 for delay in window) / 20) ** 0.5
        records.append(_late(mean, 20, deviation, requested_jitter=0.005))
    row = _row(*records)
    every = [delay for window in windows for delay in window]
    mean = sum(every) / 1000
    assert row["delay"]["achieved"] == pytest.approx(mean, abs=1e-6)
    spread = (sum((delay - mean) ** 2 for delay in every) / 1000) ** 0.5
    assert row["jitter"]["achieved"] == pytest.approx(spread, abs=1e-6)
    assert row["verdict"] == "kept"


@pytest.mark.parametrize(("lost", "verdict"), [(100, "kept"), (125, "kept"), (127, "missed")])
def test_a_loss_is_kept_within_its_binomial_interval(lost: int, verdict: str) -> None:
    row = _row({"requested_loss": 0.01, "packets": 10_000, "lost": lost})
    assert row["loss"] == {
        "requested": 0.01,
        "achieved": lost / 10_000,
        "packets": 10_000,
        "verdict": verdict,
    }


def test_bursts_are_not_judged() -> None:
    row = _row({"requested_loss": 0.01, "packets": 10_000, "lost": 500, "bursts": True})
    assert (row["loss"]["achieved"], row["verdict"]) == (0.05, "not judged")
    assert row["reason"] == f"loss not judged: {BURSTS}"


def test_messages_that_are_held_have_no_packets_to_judge() -> None:
    row = _row({"held": 0.05, **_rated(8e6)})
    assert row["delay"] == {
        "requested": 0.05,
        "achieved": None,
        "verdict": "not judged",
        "why": HELD,
    }
    assert (row["verdict"], row["reason"]) == ("kept", f"delay not judged: {HELD}")


def test_a_link_that_is_never_idle_has_no_delay() -> None:
    row = _row({"requested_delay": 0.05, "requested_jitter": 0.005, "requested_loss": 0.01})
    assert {row[name]["verdict"] for name in ("delay", "jitter", "loss")} == {"not judged"}
    assert row["reason"] == f"delay, jitter and loss not judged: {UNHEARD}"


def test_the_reason_is_the_host_if_it_was_saturated() -> None:
    assert _row(_rated(4e6))["reason"] == "rate: the load of the host does not explain it"
    row = _row(_rated(4e6), cause="devices and server were short")
    assert row["reason"] == "rate: devices and server were short"
    assert missed([row]) == (
        "links missed what was requested: far up (rate: devices and server were short)"
    )
    assert missed([_row(_rated(8e6))]) == ""


@pytest.mark.parametrize(("delay", "marked"), [(0.0535, False), (0.0545, True)])
def test_a_delay_marks_the_run_beyond_twice_its_tolerance(delay: float, marked: bool) -> None:
    row = _row(_late(delay))
    assert row["delay"]["verdict"] == "missed"
    assert bool(missed([row])) is marked


SLOW = {"what": "link", "at": 10.0, "node": "far", "way": "up", "lasts": 10.0, **_rated(4e6)}


def test_a_host_that_was_short_is_named_in_the_summary() -> None:
    short = [{"what": "host", "at": 10.0, "busy": [1.0] * 10, "short": [True] * 3 + [False] * 7}]
    fidelity = summary([SLOW, *short])["fidelity"]
    why = "devices and server were short of processor time for 30% of the time"
    assert fidelity["links"][0]["reason"] == f"rate: {why}"
    assert not fidelity["kept_up"]
    assert any("far up" in reason for reason in fidelity["reasons"])
    short[0]["short"] = [False] * 10  # though all cores were busy: with the evaluator
    assert "does not explain" in summary([SLOW, *short])["fidelity"]["links"][0]["reason"]


def test_the_time_before_the_run_does_not_count() -> None:
    assert "links" not in summary([{**SLOW, "at": -0.5}])["fidelity"]


def test_the_median_is_weighted() -> None:
    assert weighted_median([(1.0, 1.0), (2.0, 5.0), (9.0, 1.0)]) == 2.0
    assert weighted_median([(3.0, 0.0)]) == 3.0


def test_a_bottleneck_excuses_a_late_echo_and_no_rate_of_the_own_queue() -> None:
    late = {"echoes": 100, "delay": 0.03, "jitter": 0.001, "requested_delay": 0.01}
    assert _row({**_rated(8e6), **late})["verdict"] == "missed"
    row = _row({**_rated(8e6), **late, "behind": "street"})
    assert (row["verdict"], row["delay"]["verdict"]) == ("kept", "not judged")
    assert row["reason"] == "delay not judged: packets wait at the bottleneck street"
    assert _row({**_rated(7e6), **late, "behind": "street"})["verdict"] == "missed"
