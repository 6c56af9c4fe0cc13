"""The verdicts on links, from records that are made up."""

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.play.foreign_link import read_link
from emulator.log.records.fidelity_records import LinkRecord
from emulator.log.verdicts.link_fidelity import (
    BURSTS,
    HELD,
    IDLE,
    UNHEARD,
    LinkFidelity,
    at_least,
    missed,
    weighted_median,
)
from emulator.log.verdicts.packet_lateness import Shaped
from emulator.scenario.reading.profiles import Library
from tests.log.flaky_summary import summary


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
    [(7.76e6, "missed"), (7.85e6, "kept"), (8.15e6, "kept"), (8.24e6, "missed")],
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


@pytest.mark.parametrize(
    ("lost", "verdict"),
    [(100, "kept"), (140, "kept"), (146, "missed"), (64, "kept"), (56, "missed")],
)
def test_a_loss_is_kept_within_its_binomial_interval(lost: int, verdict: str) -> None:
    row = _row({"requested_loss": 0.01, "packets": 10_000, "lost": lost})
    assert row["loss"] == {
        "requested": 0.01,
        "achieved": lost / 10_000,
        "packets": 10_000,
        "verdict": verdict,
    }


PRESETS = {name: read_link(name, None, None) for name in Library(Path()).names("links")}
LOSSES = {
    f"{name} {way}": side.loss
    for name, link in PRESETS.items()
    for way, side in (("up", link.up), ("down", link.down))
    if side.loss
}
"""Losses of the presets, by direction."""
RARE = {"0.1 %": 1e-3, "0.05 %": 5e-4, "0.01 %": 1e-4, "0.4 %": 4e-3, **LOSSES}


@pytest.mark.mostly_slow(quick=1)
@pytest.mark.parametrize("loss", RARE.values(), ids=RARE)
def test_a_link_that_loses_nothing_or_twice_as_much_misses_the_loss_of_any_preset(
    loss: float,
) -> None:
    packets = 10_000_000
    achieved = {lost: round(packets * loss * lost) for lost in (0.0, 0.5, 0.9, 1.0, 1.1, 1.5, 2.05)}
    verdicts = {
        lost: _row({"requested_loss": loss, "packets": packets, "lost": number})["loss"]["verdict"]
        for lost, number in achieved.items()
    }
    assert verdicts == {lost: "kept" if 0.9 <= lost <= 1.1 else "missed" for lost in achieved}


def test_the_presets_with_a_loss_are_walked() -> None:
    assert {*LOSSES} >= {"4g-median up", "5g-mid-band down", "lora up"}


def test_a_rare_loss_is_judged_by_enough_packets() -> None:
    """At 0.1 %, chance explains that none of 3,000 packets is lost, but not that none of 20,000."""
    for packets, verdict in ((1_000, "kept"), (3_000, "kept"), (20_000, "missed")):
        row = _row({"requested_loss": 1e-3, "packets": packets, "lost": 0})
        assert row["loss"]["verdict"] == verdict


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


# -- a whole run: honest fleets, and links that are wrong ------------------------------------------


def _honest(draw: random.Random, **wrong: float) -> dict[str, Any]:
    """Return what a direction of 1 % loss, 20 ± 2 ms and 8 mbit shows in a run of some minutes.

    `wrong` are the true values where they are not those that were requested.
    """
    loss, delay, rate = (wrong.get(key, own) for key, own in REQUESTED.items())
    packets, echoes, stretches = draw.randint(10_000, 20_000), draw.randint(40, 200), 20
    expected = packets * loss
    lost = round(draw.gauss(expected, (expected * (1 - loss)) ** 0.5))
    mean = draw.gauss(delay, 2e-3 / echoes**0.5)
    # each stretch has up to a bucket too much or too little
    bits = stretches * 0.2 * rate
    off = sum(draw.random() - draw.random() for _ in range(stretches)) * (12_112 + 2e-3 * rate)
    return {
        "packets": packets,
        "lost": max(0, lost),
        "requested_loss": 0.01,
        "echoes": echoes,
        "delay": mean,
        "requested_delay": 0.02,
        "requested_jitter": 2e-3,
        "jitter": draw.gauss(2e-3, 2e-3 / (2 * echoes) ** 0.5),
        "rate": rate * (1 + off / bits),
        "busy": stretches * 0.2,
        "stretches": stretches,
        "requested_rate": 8e6,
    }


REQUESTED = {"loss": 0.01, "delay": 0.02, "rate": 8e6}


def _missed_by(draw: random.Random, devices: int, **wrong: float) -> list[dict[str, Any]]:
    """Return the rows that missed in a run; the first direction has the values `wrong`."""
    links = LinkFidelity()
    for number in range(devices):
        for way in ("up", "down"):
            given = wrong if (number, way) == (0, "up") else {}
            links.take(LinkRecord(10.0, f"n-{number}", way, 10.0, **_honest(draw, **given)))
    return [row for row in links.rows("") if row["verdict"] == "missed"]


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("devices", [1, 4, 10, 20, 40, 200])
def test_honest_fleets_are_hardly_ever_marked(devices: int) -> None:
    draw, runs = random.Random(devices), max(15, 300 // devices)
    alarms = sum(bool(_missed_by(draw, devices)) for _ in range(runs))
    assert alarms <= max(1, 0.02 * runs)


@pytest.mark.parametrize(("devices", "verdict"), [(1, "missed"), (10, "kept")])
def test_chance_has_one_level_for_all_links_of_a_run(devices: int, verdict: str) -> None:
    """An honest delay lies so far beyond its tolerance once in 370 times: in one run of 37 that has
    ten links, were each judged alone."""
    links = LinkFidelity()
    for number in range(devices):
        delay = 0.05 + 2e-3 + (3e-3 if number == 0 else 0.0)
        facts = _late(delay, jitter=0.01, requested_jitter=0.01)
        links.take(LinkRecord(10.0, f"n-{number}", "up", 10.0, **facts))
    rows = {row["node"]: row["delay"]["verdict"] for row in links.rows("")}
    assert rows.pop("n-0") == verdict
    assert {*rows.values()} <= {"kept"}


@pytest.mark.parametrize("devices", [1, 40])
@pytest.mark.parametrize(
    "name, value", [("loss", 0.02), ("rate", 7.2e6), ("rate", 8.8e6), ("delay", 0.0233)]
)
def test_a_wrong_link_is_found_in_any_fleet(devices: int, name: str, value: float) -> None:
    draw = random.Random(1)
    for _ in range(20 if devices == 1 else 5):
        rows = _missed_by(draw, devices, **{name: value})
        assert [(row["node"], row["way"]) for row in rows] == [("n-0", "up")]
        assert rows[0][name]["verdict"] == "missed"


@pytest.mark.parametrize(
    ("found", "number", "share"),
    [(3, 30, 0.01), (30, 1000, 0.02), (5, 5, 0.5), (45, 1000, 0.02)],
)
def test_tails_of_the_binomial_are_exact(found: int, number: int, share: float) -> None:
    exact, miss = Fraction(share), 1 - Fraction(share)
    terms = (
        float(math.comb(number, hits) * exact**hits * miss ** (number - hits))
        for hits in range(found, min(number, found + 60) + 1)
    )
    assert at_least(found, number, share) == pytest.approx(sum(terms), rel=1e-6)


def test_few_packets_with_a_rare_loss_are_no_miss() -> None:
    """Of 30 packets at 1 % two or three are lost now and then."""
    assert _row({"requested_loss": 0.01, "packets": 30, "lost": 2})["verdict"] == "kept"


@pytest.mark.parametrize(
    ("rate", "busy", "stretches", "verdict"),
    [
        (1e6, 0.6, 1, "kept"),
        (1e6, 0.36, 3, "not judged"),  # three stretches of ten frames
        (1e6, 2.4, 10, "kept"),
        (0.9e6, 2.4, 10, "missed"),
        (0.9e6, 4.8, 40, "not judged"),
    ],
)
def test_a_rate_is_judged_once_its_stretches_tell_enough(
    rate: float, busy: float, stretches: int, verdict: str
) -> None:
    facts = {"rate": rate, "busy": busy, "stretches": stretches, "requested_rate": 1e6}
    assert _row(facts)["rate"]["verdict"] == verdict


def test_waits_of_the_box_within_its_bound_mark_no_run() -> None:
    """A jitter of 1 ms becomes 2.0 ms where packets wait with a deviation of 1.7 ms."""
    late = [
        {"at": 1.0 + n, "what": "lateness", "packets": 99, "p50": 6e-4, "p99": 6e-3} for n in (0, 1)
    ]
    link = {"what": "link", "at": 10.0, "node": "cable", "way": "up", "lasts": 10.0}
    link |= {"echoes": 300, "delay": 0.0085, "requested_delay": 0.007}
    link |= {"jitter": 0.002, "requested_jitter": 0.001}
    records = [link, *({**each, "max": 0.05, "cpu": 0.1} for each in late)]
    fidelity = summary(records, shaped=Shaped("packets", 0.004))["fidelity"]
    (row,) = fidelity["links"]
    assert (row["verdict"], fidelity["kept_up"], fidelity["shaping"]["late"]) == (
        "missed",
        True,
        False,
    )
    assert "one in a hundred packets left the box 6.0 ms late" in row["reason"]
    far = {**link, "jitter": 0.0027}
    assert not summary([far], shaped=Shaped("packets", 0.004))["fidelity"]["kept_up"]


@pytest.mark.parametrize(
    ("p99", "reason"),
    [
        (9.5e-3, "rate: one in a hundred packets left the box 9.5 ms late or later"),
        (1.5e-3, "rate: the load of the host does not explain it"),
    ],
)
def test_waits_of_the_box_beyond_a_bucket_explain_a_rate(p99: float, reason: str) -> None:
    """A bucket holds 2 ms of the rate; what packets wait longer in the box, the link stands still.

    The run is marked all the same: it did not have the rate that was requested.
    """
    link = {"what": "link", "at": 10.0, "node": "far", "way": "up", "lasts": 10.0}
    link |= {"busy": 2.0, "rate": 7.76e6, "requested_rate": 8e6}
    late = [
        {"at": 1.0 + n, "what": "lateness", "packets": 99, "p50": 2e-4, "p99": p99, "max": 0.02}
        for n in (0, 1)
    ]
    records = [link, *({**each, "cpu": 0.1} for each in late)]
    fidelity = summary(records, shaped=Shaped("packets", 0.025))["fidelity"]
    (row,) = fidelity["links"]
    assert (row["reason"], fidelity["kept_up"]) == (reason, False)


def test_a_link_that_changes_has_the_mean_of_its_requests() -> None:
    """A trace may stand in an outage of 100 bit/s when the run ends."""
    row = _row({"requested_rate": 8e6, "requested_delay": 0.02}, {"requested_rate": 100.0})
    assert row["rate"]["requested"] == 4_000_050
    assert row["delay"]["requested"] == 0.01


SHORT, AT_EASE = [True] * 10, [False] * 10


@pytest.mark.parametrize(
    ("loads", "cause"),
    [
        ({"home": AT_EASE, "its": SHORT, "other": AT_EASE}, "100% of the time at its"),
        ({"home": SHORT, "its": AT_EASE, "other": AT_EASE}, "100% of the time at home"),
        ({"home": AT_EASE, "its": AT_EASE, "other": SHORT}, "does not explain it"),
    ],
)
def test_a_link_suffers_from_the_hosts_of_its_two_ends(
    loads: dict[str, list[bool]], cause: str
) -> None:
    link = {"what": "link", "at": 10.0, "node": "far", "way": "up", "lasts": 10.0}
    link |= {"busy": 2.0, "rate": 7.76e6, "requested_rate": 8e6}
    records = [link]
    for host, short in loads.items():
        records.append({"what": "host", "at": 10.0, "busy": [0.5] * 10, "short": short})
        records[-1] |= {"host": host}
    placed: dict[str, list[str]] = {"home": [], "its": ["far"], "other": []}
    facts = summary(records, shaped=Shaped("packets", 0.025), hosts=placed)["fidelity"]
    assert facts["links"][0]["reason"].endswith(cause)
    assert facts["hosts_short"] == {host: float(short[0]) for host, short in loads.items()}
    (worst,) = (host for host, short in loads.items() if short is SHORT)
    assert facts["reasons"][0].endswith(f"100% of the time at {worst}")
